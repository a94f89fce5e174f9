"""``curation release diff``: what differs between two versions, and what that does to scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.cli import console
from curation.cli.options import FILE, Json, Where
from curation.cli.results import show_notes
from curation.cli.score_options import LowerIsLikelier, write_text
from curation.files import CurationError
from curation.text.wording import amount, some

if TYPE_CHECKING:
    from curation.release.differences import Difference
    from curation.steps.release.comparing import Comparison

_SHOWN = 10
_METRICS = ("lms", "ss", "icat")


def diff(
    before: Annotated[
        str,
        typer.Argument(
            help="The earlier version: a release's folder, a file of CATs, or the name of a "
            "version of the campaign.",
            metavar="A",
        ),
    ],
    after: Annotated[str, typer.Argument(help="The later version.", metavar="B")],
    campaign: Where = Path(),
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            help="The folder of the runs, MODEL/RULE/; default: that of the campaign.",
            show_default=False,
            **FILE | {"metavar": "DIR"},
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions",
            metavar="NAME[@RULES]=FILE",
            help="Also use a model's predictions file. Repeatable.",
            show_default=False,
        ),
    ] = None,
    lower_is_likelier: LowerIsLikelier = None,
    errata: Annotated[
        Path | None,
        typer.Option(
            "--errata",
            help="Write every change of a CAT to this file: .jsonl for programs, .md for people.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with status 1 if test has CATs or terms that were in dev."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what differs between two versions of a dataset, and what that does to scores.

    CATs are matched by id, and CATs with new ids by their texts. Shown are CATs that were added,
    removed, changed, relabelled or moved between splits, and terms that moved or were renamed. If
    there are runs of models, lms, ss and icat on both versions follow, with what the difference
    comes from.

    The exit status is 0 whether the versions differ or not. With --strict it is 1 if the test split
    of B has terms or texts that were in the dev split of A.
    """
    from curation.release import differences as files
    from curation.steps.release.comparing import compare

    if errata and errata.suffix.lower() not in (".jsonl", ".md"):
        raise CurationError(
            f"--errata {errata}: is neither .jsonl nor .md", "name a file that ends in one of these"
        )
    comparison = compare(
        before,
        after,
        campaign=campaign,
        scores=scores,
        predictions=predictions or (),
        lower_is_likelier=lower_is_likelier or (),
        reporter=console,
    )
    changed = comparison.difference
    if errata:
        changes = changed.open_changes()
        is_text = errata.suffix.lower() == ".md"
        write_text(
            errata,
            files.errata_markdown(changed, changes) if is_text else files.errata_text(changes),
        )
    if as_json:
        console.say_json(_as_json(comparison))
    else:
        _show(changed)
        if not changed.empty:
            _show_scores(comparison)
    if strict and (changed.to_test or changed.seen):
        raise typer.Exit(1)


def _as_json(comparison: "Comparison") -> dict[str, Any]:
    from curation.release import differences as files

    changed = comparison.difference
    removed, added = files.domains(changed)
    return {
        "before": changed.before.name,
        "after": changed.after.name,
        "equal": changed.empty,
        "counts": [count._asdict() for count in files.difference_counts(changed)],
        "fields": files.fields_changed(changed),
        "domains": {"removed": removed, "added": added},
        "terms": {
            "to_test": [_term(key) for key in changed.to_test],
            "to_dev": [_term(key) for key in changed.to_dev],
            "renamed": [{"before": _term(a), "after": _term(b)} for a, b in changed.renamed],
        },
        "seen_in_dev": list(changed.seen),
        "hidden": changed.not_compared,
        "sealed": changed.sealed,
        "splits_compared": changed.before.has_splits and changed.after.has_splits,
        "ids_compared": changed.before.has_ids and changed.after.has_ids,
        "scores": comparison.scores,
    }


def _term(key: tuple[str, str]) -> dict[str, str]:
    return {"domain": key[0], "text": key[1]}


# --- tables ---------------------------------------------------------------------------------------


def _show(changed: "Difference") -> None:
    from curation.release import differences as files
    from curation.release.differences import WHATS

    old, new = changed.before.name, changed.after.name
    has_splits = changed.before.has_splits and changed.after.has_splits
    rows = [
        [count.split if has_splits else "all", *count[1:]]
        for count in files.difference_counts(changed)
    ]
    heads = ["split", "kind", "CATs in A", "CATs in B", *WHATS]
    console.table(f"CATs: from {old} (A) to {new} (B)", heads, rows)
    if changed.empty:
        console.say("The versions do not differ.")
    if fields := files.fields_changed(changed):
        console.table("Changes", ["field that changed", "CATs"], list(fields.items()))
    removed, added = files.domains(changed)
    for domains, name in ((removed, old), (added, new)):
        if domains:
            console.say(f"domains only in {name}: {', '.join(domains)}")
    if changed.renamed:
        pairs = [[domain, text, *now] for (domain, text), now in changed.renamed]
        heads = ["domain in A", "term in A", "domain in B", "term in B"]
        console.table("Renamed terms", heads, pairs)
    if changed.to_dev:
        console.say(
            f"{amount(len(changed.to_dev), 'term')} moved from test to dev: "
            f"{some(files.term_names(changed.to_dev), _SHOWN)}"
        )
    if changed.not_compared:
        console.say(
            f"gold labels and tiers of {amount(changed.not_compared, 'CAT')} are hidden in one "
            "of the versions, so they cannot be compared"
        )
    if changed.sealed:
        console.say("test CATs are not compared: their texts are not public in both versions")
    if not (changed.before.has_ids and changed.after.has_ids):
        console.say("a file has no ids, so they were made from its texts and are not compared")
    if not has_splits:
        console.say("a file's name does not say its split, so splits are not compared")
    if changed.to_test:
        console.warn(
            f"{amount(len(changed.to_test), 'term')} moved from dev to test: "
            f"{some(files.term_names(changed.to_test), _SHOWN)}"
        )
    if changed.seen:
        seen = amount(len(changed.seen), "CAT in test was in dev", "CATs in test were in dev")
        console.warn(f"{seen}, so models may be tuned on them: {some(changed.seen, _SHOWN)}")


def _show_scores(comparison: "Comparison") -> None:
    old, new = comparison.difference.before.name, comparison.difference.after.name
    cells = []
    for result in comparison.scores:
        rows = []
        for row in result["rows"]:
            cells += [cell for cell in (row["before"], row["after"]) if cell]
            rows += [_row(row, metric) for metric in _METRICS]
        heads = ["split", "kind", "CATs in A, B", "score", "A", "95 %", "B", "95 %", "B - A"]
        heads += ["relabelled", "changed", "added, removed", "moved"]
        console.table(f"{result['run']}: {old} (A) and {new} (B)", heads, rows)
        for name, lacks in ((old, result["before"]), (new, result["after"])):
            if lacks["missing"]:
                console.say(
                    f"{result['run']} has no scores of {lacks['missing']} of {lacks['of']} CATs of "
                    f"{name}; they are left out there"
                )
    if comparison.scores:
        console.say(
            "The last four columns say what B - A comes from: the changes are made one after the "
            "other, in this order."
        )
    show_notes(cells)


def _row(row: dict[str, Any], metric: str) -> list[Any]:
    from curation.release.differences import PARTS

    cats = ", ".join(str(cell["cats"]) if cell else "0" for cell in (row["before"], row["after"]))
    values: list[Any] = []
    for cell in (row["before"], row["after"]):
        if cell is None:
            values += [None, None]
            continue
        few, wide = cell["few_terms"], metric in cell["too_wide"]
        ends = cell[f"{metric}_ci"]
        marks = ("*" if few else "") + ("~" if wide else "")
        values += [cell[metric], f"{console.show(ends)}{marks}"]
    differences = [row["difference"], *(row["parts"] or dict.fromkeys(PARTS)).values()]
    return [
        *(row["split"], row["kind"], cats, metric, *values),
        *(_points(part[metric]) if part else None for part in differences),
    ]


def _points(value: float) -> float:
    """A difference without what floating point adds to it, and without the sign of zero."""
    return round(value, 9) + 0.0
