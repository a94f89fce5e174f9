"""The steps ``filter``, ``agreement`` and ``split``, and the report on neutral associations."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from curation.campaign.counted import read_counted, stopped_early, terms_of
from curation.campaign.dataset import ANSWERED, in_json
from curation.campaign.datasets import (
    CATS,
    CHECKS,
    DECISIONS,
    FLAGS,
    ITEMS,
    LABELS,
    PLANS,
    TASKS,
    TERMS,
)
from curation.campaign.settings import write_setting
from curation.campaign.step import Out, step
from curation.campaign.store import SETTINGS, Campaign
from curation.campaign.versions import KEPT
from curation.decisions.split import split_cats, split_report
from curation.files import CurationError
from curation.records import FAILS, Decision, Item, Label, Rejection, SplitName, Term
from curation.rounds.answers import people
from curation.rounds.platforms.interface import ItemFacts
from curation.rounds.status import left_out_pilots
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    import pandas as pd

    from curation.decisions.agreement import Agreement, FailedChecks, WithoutFlagged
    from curation.decisions.neutral import NeutralReport
    from curation.stats.agreement import Counted


def kept_splits(campaign: Campaign, terms: Iterable[Term]) -> dict[str, SplitName]:
    """The splits of terms in the version that ``keep`` names and in those before it, by their ids.

    The last version that has a term decides. The test terms of a sealed version are those of its
    private gold file.

    Args:
        campaign: the campaign.
        terms: its terms; their ids are used for versions without ``terms.jsonl``.

    Raises:
        CurationError: there is no such version, or one of them is damaged.
    """
    own = {(term.domain, term.text): term.id for term in terms}
    found: dict[str, SplitName] = {}
    for version, golds in campaign[KEPT]:
        ids = version.terms or own
        for cat in version.cats:
            if (cat.domain, cat.target) in ids:
                found[ids[cat.domain, cat.target]] = cat.split
        known = {**own, **ids}
        for gold in golds:
            if term := known.get((gold.bias_type, gold.target)):
                found[term] = "test"
    return found


AGREEMENT_REPORT = in_json("decisions", "agreement.json")


# --- filter -------------------------------------------------------------------------------------


@step(
    "which items become CATs",
    folder="decisions",
    version=2,
    makes=(DECISIONS,),
    reads=(ITEMS, LABELS, FLAGS),
    as_it_is=(PLANS, ANSWERED),
    settings=("decisions",),
)
def filter(campaign: Campaign, out: Out) -> dict[str, int]:
    """Count labels and decide items."""
    from curation.decisions.filter import golds_without_votes, tiers

    settings = campaign.settings.decisions
    unknown = set(settings.rounds) - set(campaign.round_names())
    if unknown:
        raise CurationError(
            f"[decisions] rounds names {min(unknown)!r}, which has no answers",
            f"rounds with answers: {', '.join(campaign.round_names())}",
        )
    items = campaign.items
    for name in sorted(set(settings.leave_out) - {item.id for item in items}):
        out.warn(f"[decisions] leave_out names {name!r}, which is not an item of this campaign")
    counted = read_counted(campaign, items)
    published = golds_without_votes(items, counted.labels)
    by_people = flag_counts(campaign, counted)
    decisions = _decided(campaign, items, counted, by_people)
    without = [decision for decision in decisions if decision.item in published]
    refused = counted.labels[counted.labels["code"] != ""]
    rejections = [
        Rejection(
            code=row["code"],
            detail=f"label by {row['annotator']} on {row['association']}",
            where=f"label {row['id']}",
            record={
                key: None if value != value else value
                for key, value in row.items()
                if key in Label.model_fields
            },
        )
        for row in refused.astype(object).to_dict("records")
    ]
    rejections += [
        Rejection(
            code=decision.reason,
            detail=f"golds {', '.join(str(v.gold) for v in decision.verdicts)}"
            + (f"; flagged by {by_people[item.id]}" if decision.reason == "flagged" else ""),
            where=f"item {item.id}",
            record=item.model_dump(mode="json"),
        )
        for item, decision in zip(items, decisions, strict=True)
        if not decision.kept
    ]
    out.records("decisions.jsonl", decisions)
    out.records("rejected.jsonl", rejections)
    reasons = Counter(r.code for r in rejections)
    return {
        "labels_in": len(counted.labels),
        "labels_counted": len(counted.labels) - len(refused),
        "labels_refused": len(refused),
        "items_in": len(items),
        "items_kept": sum(d.kept for d in decisions),
        "items_dropped": sum(not d.kept for d in decisions),
        **tiers(items, decisions),
        "gold_without_votes": sum(d.reason == "too_few_labels" for d in without),
        "kept_without_votes": sum(d.kept for d in without),
        **dict(sorted(reasons.items())),
    }


def flag_counts(campaign: Campaign, counted: "Counted") -> Counter[str]:
    """By item, how many validators set a flag that flags in [decisions] names.

    Args:
        campaign: the campaign.
        counted: which labels count: flags of people without one on the item do not.
    """
    from curation.decisions.filter import flagged

    rounds = campaign.round_names()
    every = (flag for name in rounds for flag in campaign.flags[name])
    return flagged(every, counted, campaign.settings.decisions.flags)


def _decided(
    campaign: Campaign,
    items: Sequence[Item],
    counted: "Counted",
    flagged: Mapping[str, int] | None = None,
) -> list[Decision]:
    """The decision on each item by the labels that count, under the campaign's settings.

    ``flagged`` has the number of validators who flagged an item, by its id; None counts them.
    """
    from curation.decisions.filter import golds_without_votes, judge

    settings = campaign.settings.decisions
    flagged = flag_counts(campaign, counted) if flagged is None else flagged
    least = settings.drop_flagged
    return judge(
        items,
        counted.votes,
        settings,
        pilots=left_out_pilots(campaign),
        dropped={id for id, people in flagged.items() if least and people >= least},
        trusted=golds_without_votes(items, counted.labels) if settings.trust_gold else {},
    )


FOUND = 30  # items that a search gives


def find_items(campaign: Campaign, words: str) -> list[ItemFacts]:
    """The items with this id, or with these words in their texts or target; the first ``FOUND``.

    Nothing is computed again: items and labels are taken as they are on disk.

    Raises:
        CurationError: a file of the campaign is missing or damaged.
    """
    items, wanted = campaign.items, " ".join(words.casefold().split())
    names = {term.id: f"{term.text} ({term.domain})" for term in campaign.terms.values()}

    def has(item: Item) -> bool:
        texts = [names.get(item.term, ""), item.context, *(a.sentence for a in item.associations)]
        return wanted == item.id or wanted in "\n".join(texts).casefold()

    found = [n for n, item in enumerate(items) if wanted and has(item)][:FOUND]
    if not found:
        return []
    counted, rounds, made = read_counted(campaign, items), campaign.round_names(), []
    decisions = _decided(campaign, items, counted)
    flags = [flag for name in rounds for flag in campaign.flags[name]]
    for item, decision in ((items[n], decisions[n]) for n in found):
        sentence = {each.id: each.sentence for each in item.associations}
        own = counted.labels[counted.labels["item"] == item.id]
        given = zip(own["annotator"], own["association"], own["value"], strict=True)
        known = sorted({p.code for p in campaign.pitfalls[item.round] if p.item == item.id})
        made.append(
            ItemFacts(
                item=item,
                target=names.get(item.term, ""),
                decision=decision,
                labels=[(str(who), sentence.get(id, id), value) for who, id, value in given],
                flags=[flag for flag in flags if flag.item == item.id],
                pitfalls=known,
            )
        )
    return made


def leave_out(campaign: Campaign, item: str) -> None:
    """Add an item to ``leave_out`` in ``campaign.toml``, so that it does not become a CAT.

    Raises:
        CurationError: the file cannot be changed; the message has the line to add.
    """
    out = campaign.settings.decisions.leave_out
    if item not in out:
        write_setting(campaign.root / SETTINGS, "decisions", "leave_out", [*out, item])


def about_published_golds(counts: Mapping[str, int]) -> str:
    """What users must know of items that have published gold labels and no votes.

    Args:
        counts: the counts of the step filter.

    Returns:
        How many are CATs, or would be with ``trust_gold``; empty if there are no such items.
    """
    kept = counts.get("kept_without_votes", 0)
    if kept:
        return (
            f"{amount(kept, 'CAT has', 'CATs have')} no votes: their gold labels are those that "
            "were published (trust_gold in [decisions]), and nobody's votes in this campaign "
            "confirm them"
        )
    if waiting := counts.get("gold_without_votes", 0):
        return (
            f"{amount(waiting, 'item has', 'items have')} published gold labels and no votes: "
            "collect labels («curation rounds open validation --of ROUND»), or keep the gold "
            "labels as they were published (trust_gold = true in [decisions])"
        )
    return ""


def kept_without_votes(campaign: Campaign) -> set[str]:
    """The ids of the CATs that have no votes: published gold labels alone decided them."""
    from curation.decisions.filter import without_votes

    return without_votes(campaign.decisions) if campaign.settings.decisions.trust_gold else set()


# --- agreement ----------------------------------------------------------------------------------


def agreement_report(
    campaign: Campaign,
    *,
    measures: Sequence[str],
    by: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    reporter: Reporter = QUIET,
) -> "Agreement":
    """The report of agreement, as in ``agreement.json`` or under other settings.

    It reads the filter's decisions: bring the step filter up to date first.

    Args:
        campaign: the campaign.
        measures: which coefficients, of ``curation.stats.agreement.MEASURES``.
        by: which groups, of ``curation.decisions.agreement.GROUPS``; by default all.
        exclude: annotators whose labels are left out, by pseudonym or by the platform's id.
        reporter: where progress goes.

    Returns:
        The fields of ``agreement.json``; docs/decisions.md describes them. ``measures``,
        ``retention``, ``terms`` and ``annotators`` are lists of rows for a table. Coefficients are
        from -1 to 1, shares in per cent; a value is None if it cannot be computed.

    Raises:
        CurationError: nobody has answered under an excluded name, or the decisions are not those
            of the items as they are now.
    """
    from curation.decisions import agreement
    from curation.decisions.filter import repeats, without_votes

    settings = campaign.settings
    items = campaign.items
    decisions = campaign.decisions
    if [item.id for item in items] != [decision.item for decision in decisions]:
        path = campaign.folder("decisions") / "decisions.jsonl"
        raise CurationError(
            f"{path}: the items have changed since the filter ran",
            "run «curation decisions filter»",
        )
    terms = terms_of(campaign, items)
    trusted = without_votes(decisions)
    of_data = [(i, d) for i, d in zip(items, decisions, strict=True) if d.reason != "pilot"]
    by_votes = [(i, d) for i, d in of_data if i.id not in trusted]
    voted, votes = [item for item, _ in by_votes], [decision for _, decision in by_votes]
    # Items that got labels only until they were decided agree too well. A random sample of items
    # got all labels and represents the rest.
    early = stopped_early(campaign)
    whole = [(i, d) for i, d in of_data if i.id not in early]
    counted = read_counted(campaign, [item for item, _ in whole], alone=len(whole) < len(items))
    exclude = [_pseudonym(campaign, name, counted.labels) for name in exclude]
    facts = agreement.facts(
        [item for item, _ in whole], [d for _, d in whole], counted, terms, exclude=exclude
    )
    by = agreement.GROUPS if by is None else by
    groups = ["overall", *(b for b in by if b != "annotator")]
    rows: list[agreement.Coefficient] = []
    with reporter.tracked("agreement", len(groups)) as advance:
        for group in groups:
            rows += agreement.measured(
                facts, by=group, measures=measures, confidence=settings.agreement.confidence
            )
            advance()
    data, labels = [item for item, _ in of_data], campaign.labels
    labels = labels[labels["item"].isin([item.id for item in data])]
    return {
        "confidence": settings.agreement.confidence,
        "excluded": sorted(exclude),
        "items": {
            "in": len(of_data),
            "stopped_early": len(of_data) - len(whole),
            "kept_without_votes": len(trusted),
            "labels": len(facts.labels),
        },
        "measures": rows,
        "terms": agreement.by_term(facts),
        "annotators": agreement.by_annotator(facts),
        "retention": agreement.retention(voted, votes, terms),
        "gold": agreement.intent(voted, votes),
        "repeats": repeats(data, labels, settings.decisions)._asdict(),
        "failed_checks": _failed_checks(campaign, data, early),
        "flagged": _flagged(campaign, data, early),
    }


def _flagged(
    campaign: Campaign, items: Sequence[Item], early: Collection[str]
) -> "list[WithoutFlagged]":
    """What is left without flagged items, whether they are dropped or not."""
    from curation.decisions.agreement import without_flagged

    counted = read_counted(campaign, items, alone=True)
    decisions = _decided(campaign, items, counted, {})
    return without_flagged(decisions, counted, flag_counts(campaign, counted), early)


def _failed_checks(
    campaign: Campaign, items: Sequence[Item], early: Collection[str]
) -> "FailedChecks | None":
    """What changes without the people who failed two instruction checks; None if nobody did."""
    from curation.decisions.agreement import outcome

    rows = (row for name in campaign.round_names() for row in campaign.checks[name])
    failed = sorted({row.annotator for row in rows if row.failed >= FAILS})
    if not failed:
        return None
    counted, others = (
        read_counted(campaign, items, alone=True, without=out) for out in ((), failed)
    )
    people = {*failed} & {*counted.labels["annotator"][counted.labels["code"] == ""]}
    if not people:
        return None
    return {
        "people": len(people),
        "all": outcome(_decided(campaign, items, counted), counted, early),
        "without": outcome(_decided(campaign, items, others), others, early),
    }


def about_agreement(report: "Agreement") -> list[str]:
    """What the numbers of a report leave out, in sentences.

    Args:
        report: the report, as from ``agreement_report``.
    """
    from curation.decisions.agreement import about_failed

    items = report["items"]
    lines = []
    if not items["labels"]:
        lines.append("No label counts here, so there is no agreement to compute.")
    if kept := items["kept_without_votes"]:
        lines.append(
            f"{amount(kept, 'CAT has', 'CATs have')} no votes: nobody labelled them in this "
            "campaign, and their gold labels are those that were published. They are in none of "
            "the numbers."
        )
    if failed := about_failed(report["failed_checks"]):
        lines.append(failed)
    return [*lines, *about_suspects(sum(row["suspect"] for row in report["annotators"]))]


def about_suspects(count: int) -> list[str]:
    """How many annotators a report of agreement marks, and how to see them; may be empty."""
    if not count:
        return []
    return [
        f"{amount(count, 'annotator is', 'annotators are')} marked as suspect: on average, under "
        "half of the others agree with them. «curation decisions agreement --by annotator» shows "
        "who they are"
    ]


def _pseudonym(campaign: Campaign, name: str, labels: "pd.DataFrame") -> str:
    """An annotator's pseudonym, from the pseudonym itself or, with the key, a platform's id."""
    known, id = set(labels["annotator"].unique()), campaign.settings.campaign.id
    if name not in known and people.key_path(id).exists():
        pseudonym = people.pseudonyms(people.read_key(id))(name)
        if pseudonym in known:
            return pseudonym
    if name not in known:
        raise CurationError(
            f"no annotator {name!r}",
            "«curation decisions agreement --by annotator» lists the names",
        )
    return name


@step(
    "how far annotators agree",
    folder="decisions",
    version=6,
    makes=(AGREEMENT_REPORT,),
    reads=(TERMS, ITEMS, LABELS, FLAGS, CHECKS, DECISIONS),
    as_it_is=(TASKS, PLANS, ANSWERED),
    settings=("agreement", "decisions"),
)
def agreement(campaign: Campaign, out: Out) -> dict[str, int]:
    """Write the whole report of agreement."""
    measures = campaign.settings.agreement.measures
    report = agreement_report(campaign, measures=measures, reporter=out)
    out.json("agreement.json", report)
    people = report["annotators"]
    suspects = sum(row["suspect"] for row in people)
    return {"figures": len(report["measures"]), "annotators": len(people), "suspect": suspects}


# --- neutral associations -----------------------------------------------------------------------


def neutral_report(campaign: Campaign) -> "NeutralReport":
    """How people read neutral associations, by the answers that are folded.

    Raises:
        CurationError: there are none, or they have no labels.
    """
    from curation.decisions.neutral import report

    items, labels = campaign.neutral_items, campaign.neutral_labels
    if not items:
        fix = "«curation rounds open neutral» asks people to write some; pull or import them"
        raise CurationError("there are no neutral associations yet", fix)
    if not labels:
        raise CurationError(
            f"{amount(len(items), 'neutral association')}, and no labels yet",
            f"«curation rounds open validation --of {items[-1].round}» asks for them; pull or "
            "import them",
        )
    decisions, confidence = campaign.settings.decisions, campaign.settings.agreement.confidence
    return report(
        items, labels, terms_of(campaign, items), needed=decisions.needed, confidence=confidence
    )


# --- split --------------------------------------------------------------------------------------


@step(
    "dev and test by term",
    folder="decisions",
    version=4,
    makes=(CATS,),
    reads=(TERMS, ITEMS, DECISIONS),
    as_it_is=(KEPT,),
    settings=("campaign.seed", "split"),
)
def split(campaign: Campaign, out: Out) -> dict[str, int]:
    """Split the kept CATs into dev and test."""
    dev, seed = campaign.settings.split.dev, campaign.settings.campaign.seed
    items = campaign.items
    decisions = campaign.decisions
    terms = terms_of(campaign, items).values()
    keep = kept_splits(campaign, terms)
    campaign.forget(KEPT)
    cats = split_cats(items, decisions, terms, dev=dev, seed=seed, keep=keep)
    out.records("cats.jsonl", cats)
    out.json("split.json", split_report(cats, dev=dev))
    return {
        "items_in": len(items),
        "items_dropped": len(items) - len(cats),
        "cats": len(cats),
        "dev": sum(cat.split == "dev" for cat in cats),
        "test": sum(cat.split == "test" for cat in cats),
    }
