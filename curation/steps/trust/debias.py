"""``curation trust debias``: a copy of word vectors with less bias, and what changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from curation import __version__
from curation.campaign import Campaign
from curation.files import CurationError, printable, read_json
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.measuring import policies
from curation.steps.trust.runs import TrustRun, source_name
from curation.steps.trust.vectors import (
    VectorFile,
    measure_prior,
    measure_vectors,
    report_of,
    words_of,
)
from curation.trust.groups import Groups
from curation.trust.vectors import debias as methods
from curation.trust.vectors import prior
from curation.trust.vectors.cosine import known_words
from curation.trust.vectors.debias import Change, Method
from curation.trust.vectors.reading import Block, blocks
from curation.trust.vectors.writing import check_form, write_vectors
from curation.work.run_folder import write_json

ALGORITHM = 1


@dataclass(frozen=True)
class Debiased:
    """What was written.

    Attributes:
        path: the vectors.
        report: the JSON file beside them.
        about: its content.
        changes: the measures before and after.
        runs: pairs of runs, after and before, for each judging table: of our measure, then of the
            one that is targeted.
    """

    path: Path
    report: Path
    about: dict[str, Any]
    changes: tuple[Change, ...]
    runs: tuple[tuple[TrustRun, TrustRun], ...]


def debias(
    campaign: Campaign,
    groups: Groups,
    path: Path,
    out: Path,
    *,
    method: Method,
    judges: Sequence[str] = (),
    keep: Sequence[str] = (),
    equalise: Sequence[tuple[str, ...]] | None = None,
    dimensions: int | None = None,
    weight: float = methods.WEIGHT,
    reporter: Reporter = QUIET,
) -> Debiased:
    """Write debiased vectors, and a JSON file beside them that says how they were made.

    Both files are then measured by ours and by the measure that the method targets, for the trust
    report. The run of ours on the new file has the evidence ``held_out``.

    Args:
        campaign: the campaign; its settings say how the bias is measured.
        groups: the groups, whose words at the same place form sets, and the targets.
        path: the vectors.
        out: the new file; its name says the form.
        method: hard (two groups), multiclass (hard, any number of groups) or soft.
        judges: the names of the groups with which both files are measured; by default ``groups``.
        keep: words that keep their bias, beside those of the groups.
        equalise: the sets that hard and multiclass make equal; by default those of the groups.
        dimensions: of the subspace; by default one less than there are groups.
        weight: λ of soft.
        reporter: where progress and warnings go.

    Raises:
        CurationError: the method does not fit the groups, a judging table cannot be measured, or
            the file cannot be written.
    """
    report = report_of(out)
    _check(groups, path, out, method, equalise=equalise is not None)
    most, aim = dimensions or len(groups.words) - 1, methods.targeted(groups, method)
    sets = list(zip(*groups.words.values(), strict=False)) if equalise is None else equalise
    more = [*words_of([groups]), *(word for each in sets for word in each)]
    file = VectorFile(
        campaign, path, judges or [groups.name], source_name(path), more=more, reporter=reporter
    )
    before = file.vectors
    with file.naming():
        known_words(before, groups)
        space, pairs = methods.group_subspace(groups, before, most)
        for judge in file.groups:
            prior.check_measure(aim, judge, before)
    members = [word for words in groups.words.values() for word in words]
    kept = methods.in_spelling(before, members) | set(keep)
    used = [word for each in (*pairs, *sets) if all(w in before for w in each) for word in each]
    fitted = sorted({*used, *methods.in_spelling(before, used)})
    about: dict[str, Any] = {
        "curation": __version__,
        "algorithm": ALGORITHM,
        "method": method,
        "file": printable(path.name),
        "sha256": file.sha256,
        "groups": {name: list(words) for name, words in groups.words.items()},
        "sets": len(pairs),
        "missing": [word for word in members if word not in before],
        "dimensions": most,
        "explained": space.shares.tolist(),
        "kept": sorted(kept),
        "fitted": fitted,
    }
    write_json(report, about)  # before the vectors: it marks them as made here
    try:
        with reporter.tracked(f"{path.name}: debias", path.stat().st_size, bytes=True) as advance:
            every = blocks(path, advance=advance)
            if method == "soft":
                soft = methods.soft_of_blocks(every, space.axes, kept, weight=weight)
                about |= {"weight": weight, "steps": soft.steps, "converged": soft.converged}
                about |= {"objective": {"before": soft.before, "after": soft.after}}
                changed: Iterable[Block] = methods.mapped_blocks(blocks(path), soft.map)
            else:
                made = methods.equalised(before, sets, space.axes)
                about |= {"equalised": sorted(made.rows)}
                about |= {"not_equalised": [*made.missing, *made.flat]}
                changed = methods.hard_blocks(every, space.axes, kept, made.rows)
            about["words"] = write_vectors(out, changed)
    except CurationError:
        if not out.exists():
            report.unlink(missing_ok=True)
        raise
    if not about.get("converged", True):
        reporter.warn(f"{out}: soft debiasing did not converge in {about['steps']} steps")
    own, name = policies(campaign), source_name(out)
    new = replace(file, path=out, source=f"{name}+{method}" if name == file.source else name)
    changes = methods.compare(groups, before, new.vectors, own, method=method)
    about |= {"sha256_written": new.sha256, "changes": [each._asdict() for each in changes]}
    write_json(report, about)
    confidence = campaign.settings.trust.confidence
    judged = partial(
        methods.held_out, before, new.vectors, fitted, policies=own, confidence=confidence
    )
    ours = measure_vectors(new, held_out=judged), measure_vectors(file)
    theirs = (measure_prior(each, measures=[aim]) for each in (new, file))
    runs = ((run, old) for pair in (ours, theirs) for (run, _), (old, _) in zip(*pair, strict=True))
    return Debiased(out, report, about, changes, tuple(runs))


def _check(groups: Groups, path: Path, out: Path, method: Method, *, equalise: bool) -> None:
    if not path.exists():
        raise CurationError(f"{path}: no such file", "name a file of word vectors")
    if method == "hard" and len(groups.words) != 2:
        raise CurationError(
            f"[groups.{groups.name}]: hard takes two groups, and there are {len(groups.words)}",
            "use --method multiclass",
        )
    if method == "soft" and equalise:
        raise CurationError("--equalise: soft does not equalise words", "leave the option out")
    if out.resolve() == path.resolve():
        raise CurationError(f"--out {out}: is the file that is read", "use another name")
    report = report_of(out)
    try:
        about = read_json(report)
    except CurationError:  # there is none, or it is something else
        about = None
    ours = isinstance(about, dict) and {"method", "algorithm"} <= about.keys()
    for each in (out, report):
        if each.exists() and not ours:
            raise CurationError(
                f"--out {out}: there is a file {each.name}, and this command did not write it",
                "use another name, or delete the file",
            )
    check_form(out)
