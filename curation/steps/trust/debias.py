"""``curation trust debias``: a copy of word vectors with less bias, and what changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from curation import __version__
from curation.campaign import Campaign
from curation.files import CurationError, digest, dump_json, printable, read_json, writing
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.measuring import policies
from curation.steps.trust.prior import measure_prior
from curation.steps.trust.runs import TrustRun, source_name
from curation.steps.trust.vectors import measure_vectors, naming, read_once, words_of
from curation.trust.debias.methods import (
    Method,
    equalised,
    group_subspace,
    hard_blocks,
    in_spelling,
    mapped_blocks,
    soft_of_blocks,
)
from curation.trust.debias.soft import WEIGHT
from curation.trust.debias.subspace import unit
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.prior import measuring as prior
from curation.trust.prior.measuring import Space
from curation.trust.vectors.cosine import known_words, vector_biases
from curation.trust.vectors.reading import Block, Vectors, blocks
from curation.trust.vectors.writing import check_form, write_vectors

ALGORITHM = 1


class Change(NamedTuple):
    """A measure before and after, over the n targets that have a value in both.

    ``targeted`` says that the method aims to reduce it.
    """

    measure: str
    targeted: bool
    before: float | None
    after: float | None
    n: int


@dataclass(frozen=True)
class Debiased:
    """What was written.

    Attributes:
        path: the vectors.
        report: the JSON file beside them.
        about: its content.
        changes: the measures before and after.
        runs: pairs of runs, after and before: of our measure, then of the one that is targeted.
    """

    path: Path
    report: Path
    about: dict[str, Any]
    changes: tuple[Change, ...]
    runs: tuple[tuple[TrustRun, TrustRun], ...]


def debias(
    campaign: Campaign,
    groups: Groups,
    file: Path,
    out: Path,
    *,
    method: Method,
    keep: Sequence[str] = (),
    equalise: Sequence[tuple[str, ...]] | None = None,
    dimensions: int | None = None,
    weight: float = WEIGHT,
    reporter: Reporter = QUIET,
) -> Debiased:
    """Write debiased vectors, and a JSON file beside them that says how they were made.

    Both files are then measured by ours and by the measure that the method targets, for the trust
    report.

    Args:
        campaign: the campaign; its settings say how the bias is measured.
        groups: the groups, whose words at the same place form sets, and the targets.
        file: the vectors.
        out: the new file; its name says the form.
        method: hard (two groups), multiclass (hard, any number of groups) or soft.
        keep: words that keep their bias, beside those of the groups.
        equalise: the sets that hard and multiclass make equal; by default those of the groups.
        dimensions: of the subspace; by default one less than there are groups.
        weight: λ of soft.
        reporter: where progress and warnings go.

    Raises:
        CurationError: the method does not fit the groups, or the file cannot be written.
    """
    _check(groups, file, out, method, equalise)
    most = dimensions or len(groups.words) - 1
    sets = equalise if equalise is not None else _sets(groups)
    words = [*words_of([groups]), *(word for each in sets for word in each)]
    before = read_once(file, words, reporter)()
    with naming(file):
        known_words(before, groups)
        space, used = group_subspace(groups, before, most)
    own = [word for words in groups.words.values() for word in words]
    kept = in_spelling(before, own) | set(keep)
    about: dict[str, Any] = {
        "curation": __version__,
        "algorithm": ALGORITHM,
        "method": method,
        "file": printable(file.name),
        "sha256": digest(file),
        "groups": {name: list(words) for name, words in groups.words.items()},
        "sets": used,
        "missing": [word for word in own if not before.known([word])],
        "dimensions": most,
        "explained": space.shares.tolist(),
        "kept": sorted(kept),
    }
    report = _report(out)
    _write(report, about)  # before the vectors: it marks them as made here
    try:
        with reporter.tracked(f"{file.name}: debias", file.stat().st_size, bytes=True) as advance:
            every = blocks(file, advance=advance)
            if method == "soft":
                soft = soft_of_blocks(every, space.axes, kept, weight=weight)
                about |= {"weight": weight, "steps": soft.steps, "converged": soft.converged}
                about |= {"objective": {"before": soft.before, "after": soft.after}}
                changed: Iterable[Block] = mapped_blocks(blocks(file), soft.map)
            else:
                made = equalised(before, sets, space.axes)
                about |= {"equalised": sorted(made.rows)}
                about |= {"not_equalised": [*made.missing, *made.flat]}
                changed = hard_blocks(every, space.axes, kept, made.rows)
            about["words"] = write_vectors(out, changed)
    except CurationError:
        if not out.exists():
            report.unlink(missing_ok=True)
        raise
    if not about.get("converged", True):
        reporter.warn(f"{out}: soft debiasing did not converge in {about['steps']} steps")
    after = read_once(out, words, reporter)()
    changes = compare(groups, before, after, policies(campaign), method=method)
    about |= {"sha256_written": digest(out), "changes": [each._asdict() for each in changes]}
    _write(report, about)
    runs = _measured(campaign, groups, file, out, method, reporter)
    return Debiased(out, report, about, changes, runs)


def _measured(
    campaign: Campaign, groups: Groups, file: Path, out: Path, method: Method, reporter: Reporter
) -> tuple[tuple[TrustRun, TrustRun], ...]:
    """The runs of both files: after and before, by ours and by the targeted measure."""
    before, after = source_name(file), source_name(out)
    after = f"{before}+{method}" if after == before else after
    targeted = [_targeted(groups, method)]
    found = []
    for path, source in ((out, after), (file, before)):
        ours = measure_vectors(
            campaign, path, names=[groups.name], source=source, reporter=reporter
        )
        theirs = measure_prior(
            campaign, [groups], path, measures=targeted, source=source, reporter=reporter
        )
        found.append([run for run, _ in (*ours, *theirs)])
    return tuple(zip(*found, strict=True))


def _targeted(groups: Groups, method: Method) -> str:
    """The prior measure that a method aims to reduce."""
    two = len(groups.words) == 2
    return "bolukbasi-pairs" if two and method != "multiclass" else "manzini"


def compare(
    groups: Groups, before: Vectors, after: Vectors, own: Policies, *, method: Method
) -> tuple[Change, ...]:
    """The targeted measure and ours, before and after (Table 7).

    All are computed from scratch on vectors of length 1, so that only the debiasing differs.
    """
    names = ["bolukbasi-pairs", "manzini"] if len(groups.words) == 2 else ["manzini"]
    changes = []
    for name in names:
        pair = [
            [each.value for each in prior.biases(name, groups, Space(vectors, unit=True))]
            for vectors in (before, after)
        ]
        targeted = name == _targeted(groups, method)
        label = "direct bias (bolukbasi-pairs)" if name != "manzini" else name
        changes.append(_change(label, targeted, pair, absolute=name != "manzini"))
    ours = [
        [each.l1 for each in vector_biases(_normalised(vectors), groups, own)]
        for vectors in (before, after)
    ]
    return (*changes, _change("vectors (L1)", False, ours))


def _normalised(vectors: Vectors) -> Vectors:
    return replace(vectors, array=unit(vectors.array).astype(np.float32))


def _change(
    name: str, targeted: bool, pair: Sequence[Sequence[float | None]], *, absolute: bool = False
) -> Change:
    known = [(a, b) for a, b in zip(*pair, strict=True) if a is not None and b is not None]
    if not known:
        return Change(name, targeted, None, None, 0)
    values = np.abs(known) if absolute else np.array(known)
    first, second = values.mean(axis=0).tolist()
    return Change(name, targeted, first, second, len(known))


def _sets(groups: Groups) -> list[tuple[str, ...]]:
    return list(zip(*groups.words.values(), strict=False))


def _report(out: Path) -> Path:
    return out.with_name(f"{out.name}.json")


def _write(path: Path, about: dict[str, Any]) -> None:
    with writing(path) as file:
        file.write(dump_json(about))


def _check(
    groups: Groups,
    file: Path,
    out: Path,
    method: Method,
    equalise: Sequence[tuple[str, ...]] | None,
) -> None:
    if not file.exists():
        raise CurationError(f"{file}: no such file", "name a file of word vectors")
    if method == "hard" and len(groups.words) != 2:
        raise CurationError(
            f"[groups.{groups.name}]: hard takes two groups, and there are {len(groups.words)}",
            "use --method multiclass",
        )
    if method == "soft" and equalise is not None:
        raise CurationError("--equalise: soft does not equalise words", "leave the option out")
    if out.resolve() == file.resolve():
        raise CurationError(f"--out {out}: is the file that is read", "use another name")
    report = _report(out)
    for path in (out, report):
        if path.exists() and not _is_ours(report):
            raise CurationError(
                f"--out {out}: there is a file {path.name}, and this command did not write it",
                "use another name, or delete the file",
            )
    check_form(out)


def _is_ours(report: Path) -> bool:
    """Whether this command wrote the JSON file beside the vectors."""
    try:
        about = read_json(report)
    except CurationError:  # there is none, or it is something else
        return False
    return isinstance(about, dict) and "method" in about and "algorithm" in about
