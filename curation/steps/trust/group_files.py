"""Read the groups, targets and references that ``[groups.NAME]`` names.

Files are looked for in the campaign's ``6-trust/``, then among the lists that come with curation
(``data/groups/``). A list of words is a text file with a word on each line; lines that begin with #
are comments.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import CurationError, read_records, read_text, shipped
from curation.records import Term
from curation.steps.trust.runs import read_run
from curation.steps.trust.word_lists import read_lines
from curation.text_tables import read_csv
from curation.trust.groups import Groups, check_shares
from curation.trust_settings import GroupSettings

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
        own = (settings.targets, settings.anchors, settings.outcomes, *settings.lists.values())
        paths += [_place(campaign, name) for name in own if name]
        paths += [] if settings.targets else [campaign.terms / "targets.jsonl"]
        if settings.reference.startswith(RUN):
            paths.append(_run_file(campaign, settings.reference))
        elif settings.reference != UNIFORM:
            paths.append(_place(campaign, settings.reference))
    return list(dict.fromkeys(paths))


def _groups(campaign: Campaign, name: str, settings: GroupSettings) -> Groups:
    words = {
        group: _words(_place(campaign, file), f"the group «{group}»")
        for group, file in settings.lists.items()
    }
    names = tuple(words)
    groups = Groups(
        name,
        words,
        _targets(campaign, name, settings),
        _references(campaign, settings, names),
        anchors=_anchors(campaign, settings, names),
        outcomes=_shares(_place(campaign, settings.outcomes), names) if settings.outcomes else {},
    )
    try:
        groups.check()
    except CurationError as error:
        raise CurationError(f"{campaign.root / 'campaign.toml'} {error.what}", error.fix) from None
    return groups


def _place(campaign: Campaign, name: str) -> Path:
    """The campaign's own file, else the one that comes with curation."""
    own, ours = campaign.trust / name, shipped("data", "groups", name)
    return ours if ours.exists() and not own.exists() else own


def _run_file(campaign: Campaign, reference: str) -> Path:
    return campaign.trust / "runs" / reference.removeprefix(RUN) / "bias.jsonl"


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


def _targets(campaign: Campaign, name: str, settings: GroupSettings) -> dict[str, tuple[str, ...]]:
    """The targets with their words: of the file, or the terms of the domain.

    A CSV file has the columns target and, if needed, also (more words, separated by semicolons).
    """
    if settings.targets:
        path = _place(campaign, settings.targets)
        if path.suffix.lower() != ".csv":
            return {word: (word,) for word in _words(path, "the list of targets")}
        targets: dict[str, tuple[str, ...]] = {}
        for line, row in _rows(path, ("target",)):
            _refuse_twice(path, line, row["target"], targets)
            also = tuple(filter(None, (w.strip() for w in str(row.get("also") or "").split(";"))))
            targets[row["target"]] = (row["target"], *also)
        return targets
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
        return _shares(_place(campaign, settings.reference), names)
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


def _shares(path: Path, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """The shares of a CSV file with the column target and a column for each group."""
    shares: dict[str, tuple[float, ...]] = {}
    for line, row in _rows(path, ("target", *names)):
        _refuse_twice(path, line, row["target"], shares)
        try:
            values = tuple(float(row[name]) for name in names)
        except ValueError:
            raise CurationError(
                f"{path} line {line}: a share is not a number", "write shares such as 0.25"
            ) from None
        check_shares(values, groups=len(names), where=f"{path} line {line}")
        shares[row["target"]] = values
    return shares


def _anchors(campaign: Campaign, settings: GroupSettings, names: Sequence[str]) -> dict[str, str]:
    if not settings.anchors:
        return {}
    path = _place(campaign, settings.anchors)
    anchors: dict[str, str] = {}
    for line, row in _rows(path, ("target", "group")):
        _refuse_twice(path, line, row["target"], anchors)
        if row["group"] not in names:
            raise CurationError(
                f"{path} line {line}: there is no group «{row['group']}»",
                f"use one of: {', '.join(names)}",
            )
        anchors[row["target"]] = row["group"]
    return anchors


def _refuse_twice(path: Path, line: int, target: str, known: Collection[str]) -> None:
    if target in known:
        raise CurationError(f"{path} line {line}: «{target}» is there twice", "remove one line")


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV file that has these columns; cells without spaces around them."""
    if not path.exists():
        raise CurationError(f"{path}: no such file", "write it, or correct its name in the setting")
    columns, rows = read_csv(read_text(path), path)
    if missing := [name for name in needed if name not in columns]:
        raise CurationError(
            f"{path}: no column «{missing[0]}»", f"name the columns {', '.join(needed)}"
        )
    for line, row in rows:
        cells = {key: str(value or "").strip() for key, value in row.items()}
        if empty := [name for name in needed if not cells.get(name)]:
            raise CurationError(f"{path} line {line}: «{empty[0]}» is empty", "fill it in")
        yield line, cells
