"""Import answers from files: into a round's archive, then into items and labels."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from curation.campaign.settings import is_name
from curation.campaign.store import Campaign
from curation.catsets.entries import Dataset, our_label, sentences_of
from curation.catsets.mapping import mapping_error, read_mapping
from curation.catsets.reading import read_dataset
from curation.checks.lists import is_not_english
from curation.files import CurationError
from curation.formats.rows import as_json
from curation.formats.tables import list_columns
from curation.formats.toml_files import toml_key
from curation.records import Event, Fields, Pitfall
from curation.rounds.answers import archive, people
from curation.rounds.answers.interpret import named, person_of
from curation.rounds.answers.rows import column, columns_of, text_of, understood
from curation.rounds.answers.table_checks import check_columns, settle_dates, unused_columns
from curation.rounds.platforms.opening import check_name
from curation.rounds.platforms.texts import read_words
from curation.rounds.steps import fold_answers, new_refusals, raw_is_here, refusals
from curation.terms import steps as terms
from curation.terms.steps import register_terms
from curation.text.rules import same_text
from curation.text.times import Order
from curation.text.wording import amount, some
from curation.text.words import base
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.formats.tables import Table

ALIKE_SHOWN = 5  # examples in a warning
_FIX = (
    "exclude one of the ids with «curation rounds exclude», and import its rows with the other id"
)


def warn_of_targets(
    new: Collection[tuple[str, str]], known: Iterable[tuple[str, str]], reporter: Reporter
) -> None:
    """Warn of targets that differ from another one of their domain only in case or spaces.

    Args:
        new: pairs (domain, target) of an import that the campaign did not have as terms.
        known: pairs (domain, text) of the campaign's terms, other names included.
        reporter: where the warning goes.
    """
    domains = dict.fromkeys(domain for domain, _ in new)
    groups = []
    for domain in domains:
        texts = [text for of, text in new if of == domain]
        groups += _alike(texts, [text for of, text in known if of == domain])
    if groups:
        reporter.warn(
            f"targets that differ only in case or spaces: {_examples(groups)}. They are different "
            "terms; if they are one, merge one into the other in 1-terms/edits.csv"
        )


def warn_of_people(
    campaign: Campaign, named: Iterable[str], reporter: Reporter, *, fix: str = ""
) -> None:
    """Warn of new annotators whose ids differ from another one only in case or spaces.

    Call it before the answers are archived.

    Args:
        campaign: the campaign.
        named: the ids of the people in a table, as they are in it.
        reporter: where the warning goes.
        fix: what to do if they are one person; by default, what to do about their answers.
    """
    known = {person.id for person in campaign.people}
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    # Ids with an @ are the same in capitals and in small letters.
    new = [p for p in dict.fromkeys(named) if p and "@" not in p and pseudonym(p) not in known]
    groups = _alike(new, _archived(campaign) if known and new else ())
    if groups:
        reporter.warn(
            f"annotators whose ids differ only in case or spaces: {_examples(groups)}. They count "
            f"as different people; if they are one person, {fix or _FIX}"
        )


def _archived(campaign: Campaign) -> Iterable[str]:
    """The ids of all people who sent answers."""
    return {
        person
        for round in campaign.round_names()
        for words in [read_words(campaign, round)]
        for _, event in archive.read(campaign.folder("rounds") / round / "raw")
        if (person := person_of(event, words))
    }


def _alike(new: Sequence[str], known: Iterable[str]) -> list[list[str]]:
    """Groups of different texts with the same normalised form; each has a new text."""
    groups: dict[str, list[str]] = {_key(text): [] for text in new}
    for text in dict.fromkeys((*known, *new)):
        if (own := groups.get(_key(text))) is not None:
            own.append(text)
    return [group for group in groups.values() if len(group) > 1]


def _key(text: str) -> str:
    return same_text(text).replace(" ", "")


def _examples(groups: Sequence[Sequence[str]]) -> str:
    shown = [" and ".join(map(repr, group)) for group in groups[:ALIKE_SHOWN]]
    more = f"; and {len(groups) - ALIKE_SHOWN} more" if len(groups) > ALIKE_SHOWN else ""
    return "; ".join(shown) + more


FileSource = Literal["stereoset", "answers"]
SHOWN = 20  # domains in a warning


@dataclass(frozen=True)
class Import:
    """What an import did, and what the round and the campaign have now.

    Attributes:
        round: the round's name.
        rows: rows in the file.
        added: rows that were new.
        known: rows that were imported before.
        items: the round's items.
        unlabelled: how many of these have no label yet.
        labels: labels in the round.
        rejected: answers of any round that were newly refused, by reason code.
        pitfalls: places with known pitfalls in the round's items.
        all_items: the campaign's items.
        all_labels: the campaign's labels.
        new_terms: the texts of the terms that the campaign did not have before.
    """

    round: str
    rows: int
    added: int
    known: int
    items: int
    unlabelled: int
    labels: int
    rejected: Counter[str]
    pitfalls: Sequence[Pitfall]
    all_items: int
    all_labels: int
    new_terms: list[str]


def import_stereoset(
    campaign: Campaign, file: Path, *, round: str = "published", reporter: Reporter = QUIET
) -> Import:
    """Import a dataset in StereoSet's published format; takes the campaign's lock itself.

    Args:
        campaign: the campaign.
        file: the dataset.
        round: the round that its items belong to.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the file cannot be read, or nothing may be imported here.
    """
    payloads = _read_published(campaign, file, reporter)
    return _import(campaign, round, "stereoset", payloads, known_only=False, reporter=reporter)


def _read_published(campaign: Campaign, file: Path, reporter: Reporter) -> list[Fields]:
    """The items of a dataset, as they are kept; says what users should know of them."""
    dataset = read_dataset(file)
    if not dataset.entries:
        raise CurationError(f"{file}: contains no items", "check that it is the right file")
    for entry in dataset.entries:
        as_json(entry.item, str(file.parent / entry.where))
    for note in dataset.notes:
        reporter.note(note)
    items = [entry.item for entry in dataset.entries]
    _check_voters(file, items)
    if _has_votes_of_others(items):
        reporter.note(
            f"{file.name}: has votes and original targets. If people gave the votes to the texts "
            "before translation, agreement and tiers are those of the original texts"
        )
    _warn_of_language(campaign, file, dataset, reporter)
    return [{"kind": entry.kind, "item": entry.item} for entry in dataset.entries]


def _warn_of_language(
    campaign: Campaign, file: Path, dataset: "Dataset", reporter: Reporter
) -> None:
    """Warn if a dataset is in another language than the campaign."""
    own, given = campaign.settings.campaign.language, dataset.curation
    named = given.get("language") if isinstance(given, dict) else None
    contexts = (str(entry.item.get("context")) for entry in dataset.entries)
    if isinstance(named, str) and named:
        problem = f"is in «{named[:35]}»" if base(named) != base(own) else ""
    else:
        problem = "is not in English" if base(own) == "en" and is_not_english(contexts) else ""
    if problem:
        reporter.warn(
            f"{file.name} {problem}, but the campaign is in «{own}»; correct language in "
            "[campaign] of campaign.toml"
        )


def _check_voters(file: Path, items: Sequence[Fields]) -> None:
    """Refuse a dataset whose votes say who gave them in a field of another name.

    Raises:
        CurationError: no vote has ``human_id``, and one has a field for people under another name.
    """
    given = (s.get("labels") for item in items for s in sentences_of(item))
    votes = [v for lists in given if isinstance(lists, list) for v in lists if isinstance(v, dict)]
    if not votes or any("human_id" in vote for vote in votes):
        return
    fields = list(dict.fromkeys(name for vote in votes for name in vote))
    who = next((name for name in fields if column(name) == "annotator"), None)
    if who is None:
        return
    raise CurationError(
        f"{file}: no vote has «human_id», which says who gave it; "
        f"votes have {list_columns(fields)}",
        f'write a mapping file with the field that has their ids: [columns] human_id = "{who}"',
    )


def _has_votes_of_others(items: Sequence[Fields]) -> bool:
    """Whether translated items have labels, which people may have given to other texts."""
    return any(
        item.get("target_original") and any(s.get("labels") for s in sentences_of(item))
        for item in items
    )


def import_answers(
    campaign: Campaign,
    file: Path,
    *,
    round: str = "main",
    known_terms: bool = False,
    dates: Order | None = None,
    reporter: Reporter = QUIET,
) -> Import:
    """Import writers' or validators' answers from a table; takes the campaign's lock itself.

    Answers to the tasks of a round that was opened here are imported by
    ``curation.rounds.sheets.import_tables``.

    Args:
        campaign: the campaign.
        file: the table: an .xlsx workbook, CSV or JSONL; or a mapping file that names a table with
            a column for each rater.
        round: the round that the answers belong to.
        known_terms: refuse items on terms that the campaign does not have.
        dates: what comes first in a date such as 3/4/2026; by default the other dates settle it.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the file cannot be read or is another table, a date could be two days, or
            nothing may be imported here.
    """
    from curation.formats.rows import read_table

    if file.suffix.lower() == ".toml":
        payloads, place = _labels_by_rater(file, reporter)
    else:
        payloads, place = read_table(file, reporter.warn, columns_of)
    if not payloads:
        raise CurationError(
            f"{file}: has a header and no rows", "check that this is the right file"
        )
    warning = check_columns(payloads, place.name, place.cells)
    payloads = settle_dates(
        payloads, understood, order=dates, where=place.name, numbers=place.numbers
    )
    if warning:
        reporter.warn(warning)
    if unused := unused_columns(payloads, place.name, cells=place.cells):
        reporter.note(unused)
    return _import(campaign, round, "answers", payloads, known_only=known_terms, reporter=reporter)


def _labels_by_rater(path: Path, reporter: Reporter) -> "Table":
    """A table with a column for each rater as one with a row for each label.

    The mapping file says which columns these are, and what their labels mean.
    """
    from curation.formats.rows import read_table
    from curation.formats.tables import Table

    mapping = read_mapping(path)
    if others := sorted(mapping.model_fields_set - {"files", "raters", "labels"}):
        why = "is not read for a table of answers, only files, raters and labels are"
        raise mapping_error(path, [others[0]], why, "delete it")
    if not mapping.raters or len(mapping.files) > 1:
        name = "files" if mapping.raters else "raters"
        why = "must name one table" if mapping.raters else "is missing"
        fix = 'write the columns of the raters: raters = ["Ana", "Budi"]'
        raise mapping_error(path, [name], why, "name one table" if mapping.raters else fix)
    table, place = read_table(path.parent / mapping.files[0], reporter.warn, columns_of)
    names = {name for row in table for name in row}
    for rater in mapping.raters:
        if rater not in names:
            why = f"{place.name} has no column «{rater}»; it has {list_columns(sorted(names))}"
            raise mapping_error(path, ["raters"], why, "name columns of the table")
    rows, numbers = list[Fields](), list[int]()
    for number, row in zip(place.numbers or count(1), table, strict=False):
        replaced = {name for name in row if column(name) in ("annotator", "label")}
        rest = {name: row[name] for name in row.keys() - {*mapping.raters} - replaced}
        for rater in mapping.raters:
            if text_of(row, rater):
                label = our_label(row[rater], mapping.labels)
                rows.append(rest | {"annotator": rater, "label": label})
                numbers.append(number)
    return Table(rows, place._replace(numbers=numbers))


def _import(
    campaign: Campaign,
    round: str,
    source: FileSource,
    payloads: list[Fields],
    *,
    known_only: bool,
    reporter: Reporter,
) -> Import:
    check_name(round)
    with campaign.lock():
        if not campaign.round_names():
            people.make_key(campaign.settings.campaign.id)
        elif not raw_is_here(campaign):
            raise CurationError(
                f"{campaign.folder('rounds')}: the raw answers that the items were made from are "
                "not here",
                "import on the machine that has them, or copy every round's folder «raw» from it",
            )
        # A mistake in edits.csv or in a word list is reported before anything is kept.
        selection = terms.selection(campaign, published=source == "stereoset")
        before = refusals(campaign)
        named, known = [*_named(payloads, source)], terms.term_ids(selection.terms)
        _warn_of_domains(campaign, named, source, reporter)
        if source == "answers":
            warn_of_people(campaign, _annotators(payloads), reporter)
        new = dict.fromkeys(pair for pair in named if pair not in known)
        warn_of_targets(new, known, reporter)
        register_terms(campaign, selection, named, known_only=known_only)
        delivery = archive.deliver(campaign.folder("rounds") / round / "raw", source, payloads)
        rows = len(payloads)
        payloads.clear()  # they may be most of the memory, and are read again from the archive
        named.clear()
        fold_answers(campaign, reporter=reporter)
        rejected = new_refusals(campaign, before)
        labels, all_items = campaign.labels, campaign.items
        pitfalls = campaign.pitfalls[round]
        ids = {term.id for term in selection.terms}
        new_terms = [term.text for id, term in campaign.terms.items() if id not in ids]
    labelled = set(labels["item"].unique())
    items = [item for item in all_items if item.round == round]
    return Import(
        round=round,
        rows=rows,
        added=delivery.added,
        known=delivery.known,
        items=len(items),
        unlabelled=sum(item.id not in labelled for item in items),
        labels=int((labels["round"] == round).sum()),
        rejected=rejected,
        pitfalls=pitfalls,
        all_items=len(all_items),
        all_labels=len(labels),
        new_terms=new_terms,
    )


def _warn_of_domains(
    campaign: Campaign, named: Sequence[tuple[str, str]], source: FileSource, reporter: Reporter
) -> None:
    """Warn of domains that campaign.toml does not have, with the lines to add."""
    counts = Counter(domain for domain, _ in named if domain not in campaign.settings.domains)
    if not counts:
        return
    common = counts.most_common()
    shown = some((f"{domain} ({amount(times, 'row')})" for domain, times in common), SHOWN)
    names = (domain for domain, _ in common[:SHOWN])
    lines = " ".join(f"[domains.{toml_key(domain)}]" for domain in names if is_name(domain))
    fix = "write the names of your domains into the table"
    if source == "stereoset":
        fix = "give them the names of your domains in a mapping file (docs/datasets.md)"
    if lines:
        fix += f"; or add to campaign.toml, each on a line of its own, and «curation run»: {lines}"
    reporter.warn(
        f"domains that campaign.toml does not have: {shown}; their items are refused. To use "
        f"them, {fix}"
    )


def _annotators(payloads: Sequence[Fields]) -> Iterator[str]:
    """The ids of the people in a table, as they are in it."""
    for payload in payloads:
        yield text_of(understood(payload), "annotator")


def _named(payloads: Sequence[Fields], source: FileSource) -> Iterator[tuple[str, str]]:
    """The (domain, target) pairs that answers name."""
    for payload in payloads:
        pair = named(Event.model_construct(id="-", source=source, position=0, payload=payload))
        if pair:
            yield pair
