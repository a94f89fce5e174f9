"""The files of ``6-trust/``: lists and tables that ``[groups.NAME]`` names, and runs of measures.

Lists and tables are looked for in the campaign's ``6-trust/``, then among those that come with
curation (``data/groups/``). A list of words is a text file with a word on each line; lines that
begin with # are comments.

A run is ``6-trust/runs/MEASURE/SOURCE/{run.json, bias.jsonl}``. SOURCE is the name of the groups
and that of what was measured, such as ``gender-wiki``. A run appears whole or not at all:
``run.json`` is written last and has the sha256 of ``bias.jsonl``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from curation.campaign.dataset import Dataset
from curation.campaign.settings import GroupSettings
from curation.campaign.store import Campaign
from curation.files import (
    CurationError,
    digest,
    dump_json,
    dump_line,
    read_json,
    read_records,
    read_text,
    shipped,
    writing,
)
from curation.formats.tables import read_csv
from curation.records import Bias, Evidence, Rejection
from curation.text.times import now
from curation.trust.measure.groups import Groups, check_count, check_shares
from curation.version import __version__
from curation.work.run_folder import write_json, write_lines

if TYPE_CHECKING:
    from curation.trust.measure.again import Again

RUN, BIAS, REFUSED = "run.json", "bias.jsonl", "rejected.jsonl"
IDENTITY, EVIDENCE = "identity", "evidence"
UNIFORM, OF_RUN = "uniform", "run:"
_PREFERS = ("stereotype", "anti-stereotype")


def read_groups(campaign: Campaign, names: Sequence[str] = ()) -> list[Groups]:
    """The groups of a campaign, checked.

    Args:
        campaign: the campaign.
        names: the names of the tables ``[groups.NAME]``; by default all.

    Raises:
        CurationError: there is no such table, a file is missing or not valid, or the groups cannot
            be measured (see ``Groups.check``).
    """
    if not (known := campaign.settings.groups):
        raise CurationError(
            f"{campaign.root / 'campaign.toml'}: has no groups to measure",
            "add a table [groups.NAME] (docs/trust.md, Groups)",
        )
    if unknown := [name for name in names if name not in known]:
        fix = f"use one of: {', '.join(known)}"
        raise CurationError(f"there are no groups «{unknown[0]}»", fix)
    return [_groups(campaign, name, known[name]) for name in dict.fromkeys(names or known)]


def group_files(campaign: Campaign) -> list[Path]:
    """Every file that the tables ``[groups.NAME]`` name, and the terms that are measured."""
    paths: list[Path] = []
    for settings in campaign.settings.groups.values():
        tables = (settings.anchors, settings.outcomes, settings.history, settings.frequencies)
        own = (settings.targets, *tables, *settings.lists.values())
        paths += [group_file(campaign, name) for name in own if name]
        paths += [] if settings.targets else [campaign.folder("terms") / "targets.jsonl"]
        if settings.reference.startswith(OF_RUN):
            paths.append(_run_file(campaign, settings.reference))
        elif settings.reference != UNIFORM:
            paths.append(group_file(campaign, settings.reference))
    return list(dict.fromkeys(paths))


GROUPS = Dataset("groups", group_files, lambda campaign: tuple(group_files(campaign)))
"""The files of the tables ``[groups.NAME]``, also those that come with curation."""


def _groups(campaign: Campaign, name: str, settings: GroupSettings) -> Groups:
    words = {
        group: read_words(group_file(campaign, file), f"the group «{group}»", same=str.casefold)
        for group, file in settings.lists.items()
    }
    names = tuple(words)
    anchors: dict[str, str] = {}
    for row in _rows(campaign, settings.anchors, ("target", "group")):
        anchors[row.target] = row.cells["group"]
        if anchors[row.target] not in names:
            what = f"{row.where}: there is no group «{anchors[row.target]}»"
            raise CurationError(what, f"use one of: {', '.join(names)}")
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
        _references(campaign, settings.reference, names),
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
    own, ours = campaign.folder("trust") / name, shipped("data", "groups", name)
    return ours if ours.exists() and not own.exists() else own


def reference_run(settings: GroupSettings) -> str:
    """The name of the run that is the reference of groups; "" for another one."""
    is_run = settings.reference.startswith(OF_RUN)
    return settings.reference.removeprefix(OF_RUN) if is_run else ""


def _run_file(campaign: Campaign, reference: str) -> Path:
    return campaign.folder("trust") / "runs" / reference.removeprefix(OF_RUN) / BIAS


def read_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a list of words with their numbers, without comments and empty lines.

    Raises:
        CurationError: there is no such file, or it cannot be read.
    """
    if not path.exists():
        raise CurationError(f"{path}: no such list of words", "write it, one word on each line")
    lines = enumerate((" ".join(line.split()) for line in read_text(path).splitlines()), 1)
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def read_words(path: Path, owner: str = "", *, same: Callable[[str], str] = str) -> tuple[str, ...]:
    """The words of a file with one on each line; lines that begin with # are comments.

    Args:
        path: the list.
        owner: what it is the list of, for the error if it has no words.
        same: words for which this gives the same text count once, such as ``str.casefold``.

    Raises:
        CurationError: there is no such file, or it has no words.
    """
    words: dict[str, str] = {}
    for _, word in read_lines(path):
        words.setdefault(same(word), word)
    if not words:
        what = f"{owner} has no words" if owner else "has no words"
        raise CurationError(f"{path}: {what}", "write them, one word on each line")
    return tuple(words.values())


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
        words, where = tuple(line.replace(",", " ").split()), f"{path} line {number}"
        if len(words) != size:
            raise CurationError(
                f"{where}: has {len(words)} words, not {size}",
                "write one word for each group, in the order of the groups",
            )
        for word in words:
            if word in places:
                raise CurationError(
                    f"{where}: «{word}» is also in line {places[word]}",
                    "a word can be in one set only: remove it from one of them",
                )
            places[word] = number
        sets.append(words)
    if not sets:
        raise CurationError(f"{path}: has no words", "write one set of words on each line")
    return tuple(sets)


def _targets(
    campaign: Campaign, name: str, settings: GroupSettings
) -> Mapping[str, tuple[str, ...]]:
    """The targets with their words: of the file, or the terms of the domain.

    A CSV file has the columns target and, if needed, also (more words, separated by semicolons).
    """
    if settings.targets:
        path = group_file(campaign, settings.targets)
        if path.suffix.lower() != ".csv":
            words = read_words(path, "the list of targets", same=str.casefold)
            return {word: (word,) for word in words}
        rows = _rows(campaign, settings.targets, ("target",))
        also = {row.target: map(str.strip, row.cells.get("also", "").split(";")) for row in rows}
        return {target: (target, *filter(None, more)) for target, more in also.items()}
    if not settings.domain:
        raise CurationError(
            f"[groups.{name}]: neither targets nor a domain of the campaign is given",
            "set domain to the domain whose target terms are to be measured, or targets to a file",
        )
    path = campaign.folder("terms") / "targets.jsonl"
    terms = campaign.terms.values() if path.exists() else ()
    kept = [term for term in terms if term.domain == settings.domain and term.status == "kept"]
    if not kept:
        what = f"{path}: there are no target terms of the domain «{settings.domain}»"
        raise CurationError(what, "run «curation terms select», or set targets to a file")
    return {term.text: (term.text, *term.names) for term in kept}


def _references(
    campaign: Campaign, reference: str, names: Sequence[str]
) -> dict[str, tuple[float, ...]] | None:
    if reference == UNIFORM:
        return None
    if not reference.startswith(OF_RUN):
        return _shares(campaign, reference, names)
    path = _run_file(campaign, reference)
    if not path.exists():
        fix = "name a run as run:MEASURE/GROUPS-SOURCE, as in 6-trust/runs/"
        raise CurationError(f"{path}: there is no such run", fix)
    biases = read_run(path.parent).biases
    if biases and biases[0].groups != tuple(names):
        raise CurationError(
            f"{path}: has the groups {', '.join(biases[0].groups)}, not {', '.join(names)}",
            "a reference needs the same groups in the same order",
        )
    shares = {bias.target: bias.p for bias in biases if bias.p is not None}
    if not shares:
        fix = "choose a run of text, vectors, contextual or probe with results as the reference"
        raise CurationError(f"{path}: has no distribution for any target", fix)
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
        """The number in a column; ``what`` and ``such`` are words for the error."""
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
    known = set[tuple[str, int]]()
    for where, cells in _table(path, needed, only):
        if empty := [name for name in needed if not cells.get(name)]:
            raise CurationError(f"{where}: «{empty[0]}» is empty", "fill it in")
        cell, target = cells.get("year", "") if dated else "", cells["target"]
        if cell and not (cell.isascii() and cell.isdigit() and 0 < int(cell[:5]) < 10_000):
            fix = "write a year such as 1950"
            raise CurationError(f"{where}: «{cell[:40]}» is not a year", fix)
        year = int(cell or 0)
        if (target, year) in known:
            shown = f"«{target}»" + (f" in {year}" if year else "")
            raise CurationError(f"{where}: {shown} is there twice", "remove one line")
        known.add((target, year))
        yield _Row(where, cells, target, year)


def _table(
    path: Path, needed: Sequence[str], only: Sequence[str] = ()
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The rows of a CSV file with their places, and no spaces around cells; see ``_rows``."""
    columns, rows = read_csv(read_text(path), path)
    names = f"name the columns {', '.join(only or needed)}"
    if missing := [name for name in needed if name not in columns]:
        raise CurationError(f"{path}: no column «{missing[0]}»", names)
    if only and (more := [name for name in columns if name not in only]):
        raise CurationError(f"{path}: no use for the column «{more[0]}»", names)
    for line, raw in rows:
        yield f"{path} line {line}", {k: str(v or "").strip() for k, v in raw.items()}


def _directions_file(campaign: Campaign) -> Path:
    return campaign.folder("trust") / "directions.csv"


def _read_directions(campaign: Campaign) -> Mapping[str, str]:
    path, directions = _directions_file(campaign), dict[str, str]()
    for where, cells in _table(path, ("target", "prefers")) if path.exists() else ():
        target, prefers = (cells.get(name, "") for name in ("target", "prefers"))
        if not target or prefers not in _PREFERS:
            what = f"{where}: needs a target, and in «prefers» what models prefer"
            raise CurationError(what, f"write one of: {', '.join(_PREFERS)}")
        directions[target.casefold()] = prefers
    return MappingProxyType(directions)


DIRECTED = Dataset("directions", lambda campaign: [_directions_file(campaign)], _read_directions)
"""Terms for which it is known what models prefer: a CSV with the columns target, prefers.

Asking for them raises a CurationError if the file has an error; the message names the line.
"""


# --- runs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrustRun:
    """What a measure found in a source.

    Attributes:
        measure: the measure's name, the folder's name below ``runs/``.
        source: the groups' name and the source's.
        groups: the groups' name.
        biases: the results, one per target.
        evidence: what the run computed for the trust report.
        about: the content of ``run.json``.
        folder: where it is.
    """

    measure: str
    source: str
    groups: str
    biases: tuple[Bias, ...]
    evidence: tuple[Evidence, ...]
    about: Mapping[str, Any]
    folder: Path

    @property
    def name(self) -> str:
        """The run's name in commands and in ``[trust]``: MEASURE/SOURCE."""
        return f"{self.measure}/{self.source}"

    @property
    def identity(self) -> Mapping[str, Any]:
        """What identifies the run; empty if ``run.json`` does not say it."""
        known = self.about.get(IDENTITY)
        return known if isinstance(known, dict) else {}


@dataclass(frozen=True)
class Measured:
    """What a measure found, and what can be said of it.

    Attributes:
        biases: one per target, in the order of the targets.
        about: fields for ``run.json``: counts, missing words, software.
        again: the measure with other words or policies, without intervals, for the evidence of
            content validity and sensitivity; None if it cannot be computed again.
        evidence: more evidence, such as the agreement of annotators.
        groups: the groups with those words only that the measure found, for ``again``; None if
            all were found.
        refused: rows of the input that do not count, for ``rejected.jsonl``.
    """

    biases: Sequence[Bias]
    about: Mapping[str, Any] = field(default_factory=dict)
    again: "Again | None" = None
    evidence: Sequence[Evidence] = ()
    groups: Groups | None = None
    refused: Sequence[Rejection] = ()


def source_name(path: Path) -> str:
    """The source's name for a file, if the user gives none: the file's name without its ending.

    >>> source_name(Path("my vectors.300d.txt.gz")), source_name(Path("wiki"))
    ('my-vectors.300d', 'wiki')
    """
    name = path.name.removesuffix(".gz")
    stem = name.rpartition(".")[0] or name
    return re.sub(r"[^\w.+-]+", "-", stem).lstrip(".-+")[:100] or "source"


def run_folder(campaign: Campaign, measure: str, groups: str, source: str) -> Path:
    """The folder of a run.

    Raises:
        CurationError: the source's name cannot be the name of a folder.
    """
    if not re.fullmatch(r"\w[\w.+-]{0,149}", source):
        fix = "use letters, digits, and . + - _ after the first character"
        raise CurationError(f"--source {source}: not a name for a folder", fix)
    return campaign.folder("trust") / "runs" / measure / f"{groups}-{source}"


def known_run(folder: Path, groups: str) -> TrustRun | None:
    """The run of a folder, if it is complete.

    A run of other groups is not replaced: a-b with the source c has the folder of a with b-c.

    Raises:
        CurationError: the folder has a run of groups of another name.
    """
    try:
        owner = read_json(folder / RUN).get("groups")
    except (CurationError, AttributeError):  # there is none, or it is damaged: it is made again
        return None
    if owner != groups:
        what = f"{folder}: has a run of the groups «{owner}»"
        raise CurationError(what, "choose another name with --source")
    try:
        return read_run(folder)
    except CurationError:
        return None


def write_run(folder: Path, groups: str, identity: Mapping[str, Any], found: Measured) -> TrustRun:
    """Write a run; call it only under the campaign's lock.

    Args:
        folder: from ``run_folder``.
        groups: the groups' name.
        identity: what identifies the run: words, policies, inputs with their sha256, versions.
        found: the results; ``run.json`` appears last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REFUSED).unlink(missing_ok=True)
    if found.refused:
        with writing(folder / REFUSED, private=True) as file:
            file.writelines(map(dump_line, found.refused))
    write_lines(folder / BIAS, found.biases)
    content = {
        "measure": folder.parent.name,
        "source": folder.name,
        "groups": groups,
        IDENTITY: dict(identity),
        "curation": __version__,
        **found.about,
        EVIDENCE: [each.model_dump() for each in found.evidence],
        "finished_at": now(),
        "bias_sha256": digest(folder / BIAS),
    }
    write_json(folder / RUN, content)
    return read_run(folder)


def read_run(folder: Path, *, sha256: Callable[[Path], str | None] = digest) -> TrustRun:
    """Read a run.

    Args:
        folder: its folder.
        sha256: gives that of a file.

    Raises:
        CurationError: it is damaged, or writing it was interrupted.
    """
    path, again = folder / RUN, "delete this folder and measure again"
    about = read_json(path)
    if not isinstance(about, dict) or about.get("bias_sha256") != sha256(folder / BIAS):
        what = f"{path}, field 'bias_sha256': does not belong to the {BIAS} beside it"
        raise CurationError(what, again)
    try:
        evidence = [Evidence.model_validate_json(dump_json(e)) for e in about.get(EVIDENCE, ())]
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise CurationError(f"{path}, field '{EVIDENCE}': {why}", again) from None
    except TypeError:
        raise CurationError(
            f"{path}, field '{EVIDENCE}': is not a list of records", again
        ) from None
    names = (folder.parent.name, folder.name, str(about.get("groups", "")))
    biases = tuple(read_records(folder / BIAS, Bias))
    run = TrustRun(*names, biases, tuple(evidence), about, folder)
    groups, targets = (run.identity.get(name) for name in ("groups", "targets"))
    wrong = {
        "groups": groups is not None and any(list(bias.groups) != groups for bias in biases),
        "target": targets is not None and [bias.target for bias in biases] != list(targets),
    }
    if fields := [name for name, is_wrong in wrong.items() if is_wrong]:
        raise CurationError(f"{folder / BIAS}, field {fields[0]!r}: is not as in {RUN}", again)
    return run


def run_files(campaign: Campaign) -> list[Path]:
    """The files of all runs."""
    patterns = (f"runs/*/*/{name}" for name in (RUN, BIAS))
    return [path for pattern in patterns for path in sorted(campaign.folder("trust").glob(pattern))]


TRUST_RUNS = Dataset("trust runs", run_files, lambda campaign: tuple(run_files(campaign)))
"""The files of the runs of measures of bias."""
