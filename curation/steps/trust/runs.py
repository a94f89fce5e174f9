"""The runs of bias measures, ``6-trust/runs/MEASURE/SOURCE/{run.json, bias.jsonl}``.

SOURCE is the name of the groups and that of what was measured, such as ``gender-wiki``. A run
appears whole or not at all: ``run.json`` is written last and has the sha256 of ``bias.jsonl``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from curation.campaign import Campaign
from curation.files import (
    CurationError,
    digest,
    dump_json,
    dump_line,
    read_json,
    read_records,
    writing,
)
from curation.records import Bias, Evidence, Rejection
from curation.text.times import now
from curation.work.run_folder import differences, write_json, write_lines

RUN, BIAS, REFUSED = "run.json", "bias.jsonl", "rejected.jsonl"
IDENTITY, EVIDENCE = "identity", "evidence"


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
        raise CurationError(
            f"--source {source}: not a name for a folder",
            "use letters, digits, and . + - _ after the first character",
        )
    return campaign.trust / "runs" / measure / f"{groups}-{source}"


def current(folder: Path, identity: Mapping[str, Any]) -> TrustRun | None:
    """The run of a folder, if it is complete and has this identity."""
    try:
        run = read_run(folder)
    except CurationError:  # there is none, or it is damaged: the run is made again
        return None
    known = run.about.get(IDENTITY)
    return run if isinstance(known, dict) and not differences(known, identity) else None


def refuse_other_groups(folder: Path, groups: str) -> None:
    """Refuse to replace a run of other groups: a-b with the source c has the folder of a with b-c.

    Raises:
        CurationError: the folder has a run of groups of another name.
    """
    try:
        owner = read_json(folder / RUN).get("groups")
    except (CurationError, AttributeError):
        return
    if owner != groups:
        raise CurationError(
            f"{folder}: has a run of the groups «{owner}»", "choose another name with --source"
        )


def write_run(
    folder: Path,
    *,
    groups: str,
    identity: Mapping[str, Any],
    biases: Sequence[Bias],
    evidence: Sequence[Evidence] = (),
    about: Mapping[str, Any],
    refused: Sequence[Rejection] = (),
) -> TrustRun:
    """Write a run; call it only under the campaign's lock.

    Args:
        folder: from ``run_folder``.
        groups: the groups' name.
        identity: what identifies the run: words, policies, inputs with their sha256, versions.
        biases: the results.
        evidence: what the run computed for the trust report.
        about: more fields for ``run.json``: counts, words that are missing, and so on.
        refused: rows of the input that do not count; they are written to ``rejected.jsonl``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REFUSED).unlink(missing_ok=True)
    if refused:
        with writing(folder / REFUSED, private=True) as file:
            file.writelines(map(dump_line, refused))
    write_lines(folder / BIAS, biases)
    content = {
        "measure": folder.parent.name,
        "source": folder.name,
        "groups": groups,
        IDENTITY: dict(identity),
        **about,
        EVIDENCE: [each.model_dump() for each in evidence],
        "finished_at": now(),
        "bias_sha256": digest(folder / BIAS),
    }
    write_json(folder / RUN, content)
    return read_run(folder)


def read_run(folder: Path) -> TrustRun:
    """Read a run.

    Raises:
        CurationError: it is damaged, or writing it was interrupted.
    """
    path, again = folder / RUN, "delete this folder and measure again"
    about = read_json(path)
    if not isinstance(about, dict) or about.get("bias_sha256") != digest(folder / BIAS):
        raise CurationError(
            f"{path}, field 'bias_sha256': does not belong to the {BIAS} beside it", again
        )
    try:
        evidence = [Evidence.model_validate_json(dump_json(e)) for e in about.get(EVIDENCE, ())]
    except (ValidationError, TypeError) as error:
        bad = error.errors()[0]["msg"] if isinstance(error, ValidationError) else ""
        why = bad or "is not a list of records"
        raise CurationError(f"{path}, field '{EVIDENCE}': {why}", again) from None
    biases = tuple(read_records(folder / BIAS, Bias))
    if differ := _differ(biases, about.get(IDENTITY)):
        raise CurationError(f"{folder / BIAS}, field '{differ}': is not as in {RUN}", again)
    groups = str(about.get("groups", ""))
    measure, source = folder.parent.name, folder.name
    return TrustRun(measure, source, groups, biases, tuple(evidence), about, folder)


def _differ(biases: Sequence[Bias], identity: Any) -> str:
    """In what the results differ from the identity of their run; empty if in nothing."""
    known = identity if isinstance(identity, dict) else {}
    groups, targets = known.get("groups"), known.get("targets")
    if groups is not None and any(list(bias.groups) != groups for bias in biases):
        return "groups"
    if targets is not None and [bias.target for bias in biases] != list(targets):
        return "target"
    return ""


def run_files(campaign: Campaign) -> list[Path]:
    """The files of all runs."""
    patterns = (f"runs/*/*/{name}" for name in (RUN, BIAS))
    return [path for pattern in patterns for path in sorted(campaign.trust.glob(pattern))]
