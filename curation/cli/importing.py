"""``curation import``: answers from files into a round's archive."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign import Campaign, open_campaign
from curation.cli import console
from curation.cli.options import FILE, Json, Where
from curation.files import CurationError, dump_line, read_records, writing
from curation.records import Rejection, Term
from curation.settings import RoundName
from curation.steps import read
from curation.steps.pipeline import fold_answers
from curation.steps.rounds.check import pitfalls, tell_pitfalls

if TYPE_CHECKING:
    from curation.terms.select import Selection

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Bring answers in: published StereoSet files, or tables from another platform.",
)
Round = Annotated[
    str,
    typer.Option("--round", "-r", help="The round that the answers belong to.", metavar="NAME"),
]


@app.command("stereoset")
def stereoset(
    file: Annotated[Path, typer.Argument(help="A file in StereoSet's format.", **FILE)],
    campaign: Where = Path(),
    round: Round = "published",
    as_json: Json = False,
) -> None:
    """Import a dataset in StereoSet's published format: items, labels, ids kept.

    Texts are taken as they were published. Items of another form than three sentences, clashing
    ids and unknown labels are refused with a reason and kept in 2-rounds/ROUND/rejected.jsonl.
    """
    from curation.stereoset import read_entries

    payloads = [{"kind": entry.kind, "item": entry.item} for entry in read_entries(file)]
    _import(campaign, round, "stereoset", payloads, known_terms=False, as_json=as_json)


@app.command("answers")
def answers(
    file: Annotated[Path, typer.Argument(help="A CSV or JSONL file.", **FILE)],
    campaign: Where = Path(),
    round: Round = "main",
    known_terms: Annotated[
        bool,
        typer.Option("--known-terms", help="Refuse items on terms that the campaign lacks."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Import writers' or validators' answers from a table.

    Writers: domain, target, context, stereotype, anti_stereotype, unrelated; and, where there,
    item_id, kind, annotator, submitted_at, updated_at, seconds. The three are sentences, or the
    words that fill BLANK.

    Validators: item_id, annotator, association (its id or its text) and label; or association_1,
    label_1 to association_3, label_3 in one row; and, where there, answer_id, submitted_at,
    updated_at, seconds.

    Commas, semicolons, tabs or bars, with or without a byte order mark. Importing a file again
    adds only what is new. docs/formats.md tells more.
    """
    from curation.rounds.tables import read_rows

    payloads = [row for _, row in read_rows(file)]
    if not payloads:
        raise CurationError(f"{file}: a header and no rows", "check that it is the right file")
    _check_columns(file, payloads)
    _import(campaign, round, "answers", payloads, known_terms=known_terms, as_json=as_json)


def _check_columns(file: Path, payloads: list[dict[str, Any]]) -> None:
    """Refuse a table of another kind before anything of it is kept."""
    from curation.rounds.answers.rows import VALIDATORS, WRITERS, column, lacks

    found = {name: None for row in payloads for name in row}
    missing = lacks({column(name): None for name in found})
    if missing:
        raise CurationError(
            f"{file}: no column {', '.join(missing)}; it has {', '.join(found)}",
            f"a writers' table has {', '.join(WRITERS)}; a validators' {', '.join(VALIDATORS)}",
        )


def _import(
    root: Path,
    round: str,
    source: Literal["stereoset", "answers"],
    payloads: list[dict[str, Any]],
    *,
    known_terms: bool,
    as_json: bool,
) -> None:
    from curation.rounds import people
    from curation.rounds.answers import archive

    check_name(round)
    campaign = open_campaign(root)
    with campaign.lock():
        if not campaign.round_names():
            people.make_key(campaign.settings.campaign.id)
        elif not read.raw_is_here(campaign):
            raise CurationError(
                f"{campaign.rounds}: the raw answers that items were made of are not here",
                "import where they are, or copy every round's folder raw from there",
            )
        # A mistake in edits.csv or a word list is said before anything is kept.
        selection = read.selection(campaign)
        raw, before = campaign.rounds / round / "raw", refusals(campaign)
        register_terms(campaign, selection, _named(payloads, source), known_only=known_terms)
        delivery = archive.deliver(raw, source, payloads)
        fold_answers(campaign, reporter=console)
        refused = Counter(code for code, *_ in (refusals(campaign) - before).elements())
        labels = read.read_labels(campaign)
        labelled = set(labels["item"].unique())
        all_items = read.read_items(campaign)
        items = [item for item in all_items if item.round == round]
        found = pitfalls(campaign, round)
    summary = {
        "round": round,
        "rows": len(payloads),
        "added": delivery.added,
        "known": delivery.known,
        "items": len(items),
        "unlabelled": sum(item.id not in labelled for item in items),
        "labels": int((labels["round"] == round).sum()),
        "rejected": dict(sorted(refused.items())),
        "pitfalls": dict(sorted(Counter(one.code for one in found).items())),
    }
    if as_json:
        console.say_json(summary)
        return
    console.say(
        f"{delivery.added} rows added to round {round}, {delivery.known} known already. "
        f"The round has {summary['items']} items and {summary['labels']} labels; "
        f"the campaign {len(all_items)} and {len(labels)}."
    )
    if refused:
        show_refused("Newly refused, in 2-rounds/*/rejected.jsonl", refused)
    if refused.total() > len(payloads) / 2:
        console.warn(
            f"more answers were refused than half of the file's {len(payloads)} rows; "
            "rejected.jsonl tells of each"
        )
    tell_pitfalls(found, round, len(items))
    if items and summary["unlabelled"]:
        console.say(f"{summary['unlabelled']} items have no label yet.")


def check_name(round: str) -> None:
    """Refuse what cannot be the name of a round.

    Raises:
        CurationError: it has other characters than a folder's name may have.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(RoundName).validate_python(round)
    except ValidationError:
        raise CurationError(
            f"{round!r} cannot be the name of a round",
            "use letters, digits, - and _, beginning with no -",
        ) from None


def refusals(campaign: Campaign) -> Counter[tuple[str, str, str]]:
    """All that is refused in any round: an answer to one can change what another's are worth."""
    return Counter(
        (r.code, r.detail, r.where)
        for path in campaign.rounds.glob("*/rejected.jsonl")
        for r in read_records(path, Rejection)
    )


def show_refused(title: str, refused: Counter[str]) -> None:
    """Print how many answers fell under each reason."""
    from curation.reasons import REASONS

    rows = [(code, n, REASONS[code]) for code, n in refused.most_common()]
    console.table(title, ["reason", "count", "meaning"], rows)


def _named(
    payloads: list[dict[str, Any]], source: Literal["stereoset", "answers"]
) -> Iterator[tuple[str, str]]:
    """The (domain, target) pairs that answers name."""
    from curation.records import Event
    from curation.rounds.answers.interpret import named

    for payload in payloads:
        pair = named(Event.model_construct(id="-", source=source, position=0, payload=payload))
        if pair:
            yield pair


def register_terms(
    campaign: Campaign,
    selection: "Selection",
    named: Iterator[tuple[str, str]],
    *,
    known_only: bool,
) -> None:
    """Keep every term that answers name, with its permanent id and its first text.

    From now on it is a term, whatever Wikidata calls it later and whatever the thresholds say.
    """
    from curation.terms.edits import COLUMNS
    from curation.terms.pool import new_id
    from curation.terms.select import first_name

    path, edits = campaign.terms / "imported.jsonl", campaign.terms / "edits.csv"
    met = {term.id: term for term in read.read_met(campaign)}
    before, by_id = len(met), {term.id: term for term in selection.terms}
    ids = read.term_ids(selection.terms)
    links = {c.id: c.family for c in selection.candidates}  # to its place, to its other forms
    for domain, text in dict.fromkeys(named):
        term = by_id.get(ids.get((domain, text), ""))
        if term:
            first = first_name(term)
            met.setdefault(
                term.id,
                Term(
                    id=term.id,
                    text=first,
                    domain=domain,
                    family=links[term.id],
                    wikidata=term.wikidata,
                ),
            )
        if (term is None and not known_only) or (term and text not in (term.text, first)):
            name = new_id(domain, text)
            met.setdefault(name, Term(id=name, text=text, domain=domain))
    if len(met) > before:
        with writing(path) as file:
            file.writelines(map(dump_line, met.values()))
    if not edits.exists():
        with writing(edits) as file:
            file.write((",".join(COLUMNS) + "\n").encode())
