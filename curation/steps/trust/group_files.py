"""Read the groups, targets and references that ``[groups.NAME]`` names.

Files are looked for in the campaign's ``6-trust/``, then among the lists that come with curation
(``data/groups/``). A list of words is a text file with a word on each line; lines that begin with #
are comments.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError, read_records, read_text, shipped
from curation.formats.tables import read_csv
from curation.records import Term
from curation.settings import GroupSettings
from curation.steps.trust.runs import read_run
from curation.trust.groups import Groups, check_count, check_shares

UNIFORM, RUN = "uniform", "run:"


def read_groups(campaign: Campaign, names: Sequence[str] = ()) -> list[Groups]:
    """The groups of a campaign, checked.

    Args:
        campaign: the campaign.
        names: the names of the tables ``[groups.NAME]``; by default all.

    Raises:
        CurationError: there is no such table, a file is missing or not valid, or the groups cannot
            be measured (see ``Groups.check``).
    """
    known = campaign.settings.groups
    if not known:
        raise CurationError(
            f"{campaign.root / 'campaign.toml'}: has no groups to measure",
            "add a table [groups.NAME] (docs/trust.md, Groups)",
        )
    for name in names:
        if name not in known:
            raise CurationError(f"there are no groups «{name}»", f"use one of: {', '.join(known)}")
    return [_groups(campaign, name, known[name]) for name in dict.fromkeys(names or known)]


def group_files(campaign: Campaign) -> list[Path]:
    """Every file that the tables ``[groups.NAME]`` name, and the terms that are measured."""
    paths: list[Path] = []
    for settings in campaign.settings.groups.values():
        tables = (settings.anchors, settings.outcomes, settings.history, settings.frequencies)
        own = (settings.targets, *tables, *settings.lists.values())
        paths += [group_file(campaign, name) for name in own if name]
        paths += [] if settings.targets else [campaign.terms / "targets.jsonl"]
        if settings.reference.startswith(RUN):
            paths.append(_run_file(campaign, settings.reference))
        elif settings.reference != UNIFORM:
            paths.append(group_file(campaign, settings.reference))
    return list(dict.fromkeys(paths))


def _groups(campaign: Campaign, name: str, settings: GroupSettings) -> Groups:
    words = {
        group: _words(group_file(campaign, file), f"the group «{group}»")
        for group, file in settings.lists.items()
    }
    names = tuple(words)
    anchors: dict[str, str] = {}
    for row in _rows(campaign, settings.anchors, ("target", "group")):
        anchors[row.target] = row.cells["group"]
        if anchors[row.target] not in names:
            raise CurationError(
                f"{row.where}: there is no group «{anchors[row.target]}»",
                f"use one of: {', '.join(names)}",
            )
    history: dict[int, dict[str, tuple[float, ...]]] = {}
    for row in _rows(campaign, settings.history, ("target", "year", *names), dated=True):
        history.setdefault(row.year, {})[row.target] = row.shares(names)
    frequencies: dict[int, dict[str, float]] = {}
    needed = ("target", "count")
    for row in _rows(campaign, settings.frequencies, needed, dated=True, only=(*needed, "year")):
        count = row.number("count", "the count", "how often the target occurs")
        check_count(count, where=row.where)
        frequencies.setdefault(row.year, {})[row.target] = count
    groups = Groups(
        name,
        words,
        _targets(campaign, name, settings),
        _references(campaign, settings, names),
        anchors,
        _shares(campaign, settings.outcomes, names),
        frequencies.pop(0, {}),
        frequencies,
        history,
    )
    try:
        groups.check()
    except CurationError as error:
        raise CurationError(f"{campaign.root / 'campaign.toml'} {error.what}", error.fix) from None
    return groups


def group_file(campaign: Campaign, name: str) -> Path:
    """A file that ``[groups.NAME]`` names: the campaign's own, else the one of curation."""
    own, ours = campaign.trust / name, shipped("data", "groups", name)
    return ours if ours.exists() and not own.exists() else own


def _run_file(campaign: Campaign, reference: str) -> Path:
    return campaign.trust / "runs" / reference.removeprefix(RUN) / "bias.jsonl"


def read_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a list of words with their numbers, without comments and empty lines.

    Raises:
        CurationError: there is no such file, or it cannot be read.
    """
    if not path.exists():
        raise CurationError(f"{path}: no such list of words", "write it, one word on each line")
    lines = enumerate((" ".join(line.split()) for line in read_text(path).splitlines()), 1)
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def read_words(path: Path) -> tuple[str, ...]:
    """The words of a file with one on each line; lines that begin with # are comments.

    Raises:
        CurationError: there is no such file, or it has no words.
    """
    words = tuple(dict.fromkeys(word for _, word in read_lines(path)))
    if not words:
        raise CurationError(f"{path}: has no words", "write one word on each line")
    return words


def read_sets(path: Path, size: int) -> tuple[tuple[str, ...], ...]:
    """Sets of words, one on each line, with commas or spaces between the words.

    Args:
        path: the file.
        size: how many words a set has: one for each group.

    Raises:
        CurationError: there is no such file, a set has another size, or a word is in two sets.
    """
    sets: list[tuple[str, ...]] = []
    places: dict[str, int] = {}
    for number, line in read_lines(path):
        words = tuple(line.replace(",", " ").split())
        if len(words) != size:
            raise CurationError(
                f"{path} line {number}: has {len(words)} words, not {size}",
                "write one word for each group, in the order of the groups",
            )
        for word in words:
            if word in places:
                raise CurationError(
                    f"{path} line {number}: «{word}» is also in line {places[word]}",
                    "a word can be in one set only: remove it from one of them",
                )
            places[word] = number
        sets.append(words)
    if not sets:
        raise CurationError(f"{path}: has no words", "write one set of words on each line")
    return tuple(sets)


def _words(path: Path, owner: str) -> tuple[str, ...]:
    """The words of a list; a word that is given twice, in whatever case, counts once.

    Args:
        path: the list.
        owner: what it is the list of, for the error if it has no words.
    """
    words: dict[str, str] = {}
    for _, word in read_lines(path):
        words.setdefault(word.casefold(), word)
    if not words:
        raise CurationError(f"{path}: {owner} has no words", "write them, one word on each line")
    return tuple(words.values())


def _targets(
    campaign: Campaign, name: str, settings: GroupSettings
) -> Mapping[str, tuple[str, ...]]:
    """The targets with their words: of the file, or the terms of the domain.

    A CSV file has the columns target and, if needed, also (more words, separated by semicolons).
    """
    if settings.targets:
        path = group_file(campaign, settings.targets)
        if path.suffix.lower() != ".csv":
            return {word: (word,) for word in _words(path, "the list of targets")}
        rows = _rows(campaign, settings.targets, ("target",))
        also = {row.target: row.cells.get("also", "").split(";") for row in rows}
        return {t: (t, *filter(None, map(str.strip, more))) for t, more in also.items()}
    if settings.domain not in campaign.settings.domains:
        raise CurationError(
            f"[groups.{name}]: neither targets nor a domain of the campaign is given",
            "set domain to the domain whose target terms are to be measured, or targets to a file",
        )
    path = campaign.terms / "targets.jsonl"
    terms = read_records(path, Term) if path.exists() else []
    kept = [term for term in terms if term.domain == settings.domain and term.status == "kept"]
    if not kept:
        raise CurationError(
            f"{path}: there are no target terms of the domain «{settings.domain}»",
            "run «curation terms select», or set targets to a file",
        )
    return {term.text: (term.text, *term.names) for term in kept}


def _references(
    campaign: Campaign, settings: GroupSettings, names: Sequence[str]
) -> dict[str, tuple[float, ...]] | None:
    if settings.reference == UNIFORM:
        return None
    if not settings.reference.startswith(RUN):
        return _shares(campaign, settings.reference, names)
    path = _run_file(campaign, settings.reference)
    if not path.exists():
        raise CurationError(
            f"{path}: there is no such run",
            "name a run as run:MEASURE/GROUPS-SOURCE, as in 6-trust/runs/",
        )
    biases = read_run(path.parent).biases
    if biases and biases[0].groups != tuple(names):
        raise CurationError(
            f"{path}: has the groups {', '.join(biases[0].groups)}, not {', '.join(names)}",
            "a reference needs the same groups in the same order",
        )
    shares = {bias.target: bias.p for bias in biases if bias.p is not None}
    if not shares:
        raise CurationError(
            f"{path}: has no distribution for any target",
            "choose a run of text, vectors, contextual or probe with results as the reference",
        )
    if outside := [target for target, p in shares.items() if min(p) < 0]:
        raise CurationError(
            f"{path}: p of «{outside[0]}» has a negative entry, so it cannot be a reference",
            "measure that run again with another policy for negative associations in [trust]",
        )
    return shares


def _shares(campaign: Campaign, file: str, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    return {row.target: row.shares(names) for row in _rows(campaign, file, ("target", *names))}


class _Row(NamedTuple):
    """A row of a CSV file with the column target; ``year`` is 0 if it has none."""

    where: str
    cells: Mapping[str, str]
    target: str
    year: int

    def number(self, column: str, what: str, such: str) -> float:
        try:
            return float(self.cells[column])
        except ValueError:
            raise CurationError(f"{self.where}: {what} is not a number", f"write {such}") from None

    def shares(self, names: Sequence[str]) -> tuple[float, ...]:
        """The shares in the columns of the groups."""
        values = tuple(self.number(name, "a share", "shares such as 0.25") for name in names)
        check_shares(values, groups=len(names), where=self.where)
        return values


def _rows(
    campaign: Campaign,
    file: str,
    needed: Sequence[str],
    *,
    dated: bool = False,
    only: Sequence[str] = (),
) -> Iterator[_Row]:
    """The rows of a CSV file, if one is named; cells have no spaces around them.

    Args:
        campaign: the campaign.
        file: its name; empty for none.
        needed: the columns that it must have, without empty cells.
        dated: whether a target may have a line for each year.
        only: all columns that it may have; empty for any.
    """
    if not file:
        return
    path = group_file(campaign, file)
    if not path.exists():
        raise CurationError(f"{path}: no such file", "write it, or correct its name in the setting")
    columns, rows = read_csv(read_text(path), path)
    names = f"name the columns {', '.join(only or needed)}"
    if missing := [name for name in needed if name not in columns]:
        raise CurationError(f"{path}: no column «{missing[0]}»", names)
    if only and (more := [name for name in columns if name not in only]):
        raise CurationError(f"{path}: no use for the column «{more[0]}»", names)
    known = set[tuple[str, int]]()
    for line, raw in rows:
        where, cells = f"{path} line {line}", {k: str(v or "").strip() for k, v in raw.items()}
        if empty := [name for name in needed if not cells.get(name)]:
            raise CurationError(f"{where}: «{empty[0]}» is empty", "fill it in")
        year = _year(cells.get("year", ""), where) if dated else 0
        row = _Row(where, cells, cells["target"], year)
        if (row.target, year) in known:
            shown = f"«{row.target}»" + (f" in {year}" if year else "")
            raise CurationError(f"{where}: {shown} is there twice", "remove one line")
        known.add((row.target, year))
        yield row


def _year(cell: str, where: str) -> int:
    if cell and not (cell.isascii() and cell.isdigit() and 0 < int(cell[:5]) < 10_000):
        raise CurationError(f"{where}: «{cell[:40]}» is not a year", "write a year such as 1950")
    return int(cell or 0)
