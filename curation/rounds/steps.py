"""The steps ``answers`` and ``item_pitfalls``: items, labels and pitfalls from raw answers.

And the files of the raw answers, and whether they are as they came.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from curation.campaign.counted import terms_of
from curation.campaign.dataset import ANSWERED, Dataset
from curation.campaign.datasets import (
    ANSWERS,
    CHECKS,
    CONSENTS,
    CORRECTIONS,
    FLAGS,
    ITEM_PITFALLS,
    ITEMS,
    LABELS,
    META_TEXT,
    OWN_WORDS,
    PEOPLE,
    PITFALL_TABLES,
    PLANS,
    REJECTED,
    STANDING,
    TASKS,
    TERMS,
    TEXTS,
    TYPING,
    not_in_copy,
)
from curation.campaign.manifest import MANIFEST, SEGMENTS, is_inside
from curation.campaign.settings import FIELDS, caps_of
from curation.campaign.step import Out, run_steps, step, word_packages
from curation.campaign.store import Campaign
from curation.files import CurationError, count_lines, read_json
from curation.kinds import ROUNDS, WORKS
from curation.records import Correction, Pitfall
from curation.rounds.answers import archive, people
from curation.rounds.answers.archive import segments
from curation.rounds.answers.parsed import Consented, ParsedAnswer
from curation.rounds.platforms.texts import read_words
from curation.terms import steps as terms
from curation.text.rules import grouped
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.rounds.fold import Folded


# --- the raw answers of all rounds ----------------------------------------------------------------


def raw_files(campaign: Campaign) -> list[Path]:
    """Every segment of every round's archive."""
    folder = campaign.folder("rounds")
    return [p for name in campaign.round_names() for p in segments(folder / name / "raw")]


RAW: Dataset[tuple[Path, ...]] = Dataset(
    "raw answers", raw_files, lambda campaign: tuple(raw_files(campaign))
)
"""The files of the raw answers of all rounds."""


def no_answers(campaign: Campaign) -> CurationError | None:
    """The error of steps that need answers, if the campaign has none, or this copy lacks some."""
    names = set(campaign.round_names())
    for labels in sorted(campaign.folder("rounds").glob("*/labels.jsonl")):
        if labels.parent.name not in names:
            return not_in_copy(labels.with_name("items.jsonl"))
    if names:
        return None
    return CurationError(
        f"{campaign.root.resolve()}: there are no answers yet; the terms are selected",
        "«curation import answers FILE» or «curation import stereoset FILE»",
    )


def raw_is_here(campaign: Campaign) -> bool:
    """Whether the raw answers are on this machine.

    Raises:
        CurationError: they are, but some of those that the items and labels were made from are
            missing or have changed.
    """
    known = campaign[KNOWN_SEGMENTS]
    if not raw_files(campaign):
        return False
    for name, sha in known.items():
        now = campaign.digest(campaign.root / name)
        if not now or sha not in ("", now):
            raise _not_as_they_came(campaign.root / name, "have changed" if now else "are missing")
    for round in campaign.round_names():
        folder = campaign.folder("rounds") / round
        results = (folder / "items.jsonl", folder / "labels.jsonl")
        if not segments(folder / "raw") and any(p.exists() and p.stat().st_size for p in results):
            raise _not_as_they_came(folder / "raw", "are missing")
    return True


def _not_as_they_came(path: Path, problem: str) -> CurationError:
    return CurationError(
        f"{path}: these raw answers {problem}",
        "put the file back from a backup, or ask the person who has it for a copy; nothing was "
        "changed here",
    )


def _read_segments(campaign: Campaign) -> Mapping[str, str]:
    """The raw answers that the items and labels were made from: each segment's path and sha256.

    The sha256 is "" while a segment is rewritten (``people.erase``).

    Raises:
        CurationError: neither the manifest nor ``segments.json`` can be read.
    """
    run = campaign.manifest(campaign.folder("rounds")).steps.get("answers")
    known = {n: sha for n, sha in run.inputs.items() if "/raw/" in n} if run else {}
    path = campaign.folder("rounds") / SEGMENTS
    try:
        kept = read_json(path) if path.exists() else {}
    except CurationError:
        kept = None
    if isinstance(kept, dict) and all(
        isinstance(sha, str) and "/raw/" in name and is_inside(name) for name, sha in kept.items()
    ):
        return MappingProxyType(known | kept)
    if run is None:  # otherwise the step answers writes the file again
        raise CurationError(
            f"{path}: is damaged, and it alone says which raw answers there were",
            "put the file back from a backup or from version control",
        )
    return MappingProxyType(known)


KNOWN_SEGMENTS: Dataset[Mapping[str, str]] = Dataset(
    "segments",
    lambda campaign: [campaign.folder("rounds") / name for name in (MANIFEST, SEGMENTS)],
    _read_segments,
)
"""The raw answers that the items and labels were made from: each segment's path and sha256."""


OUT: Dataset[Mapping[str, tuple[str, str]]] = Dataset(
    "people who are out",
    STANDING.files,
    lambda campaign: MappingProxyType(people.out(campaign.standing)),
    by_value=True,
)
"""By pseudonym of people whose answers do not count, the reason code and the reason."""
KEY = Dataset(
    "key",
    lambda campaign: [people.key_path(campaign.settings.campaign.id)],
    lambda campaign: people.read_key(campaign.settings.campaign.id),
    by_value=True,
)
"""The campaign's key, which makes pseudonyms; it is not in the campaign's folder."""


# --- the steps ------------------------------------------------------------------------------------


@step(
    "known pitfalls of items, as they come in",
    folder="rounds",
    version=6,
    makes=(ITEM_PITFALLS,),
    reads=(TERMS, ITEMS),
    as_it_is=(OWN_WORDS, *PITFALL_TABLES, ANSWERED),
    settings=("campaign.language", "rounds.form"),
    packages=word_packages,
    applies=raw_is_here,
)
def item_pitfalls(campaign: Campaign, out: Out) -> dict[str, int]:
    """Check the form and the words of every item that was let in."""
    from curation.checks import lexical

    items = campaign.items
    by_round: dict[str, list[Pitfall]] = {round: [] for round in campaign.round_names()}
    round_of = {item.id: item.round for item in items}
    with out.tracked("checking items", len(items)) as advance:
        for pitfall in lexical.item_pitfalls(
            items,
            terms_of(campaign, items),
            language=campaign.settings.campaign.language,
            own=campaign[OWN_WORDS],
            **campaign.settings.rounds.model_dump(include={*FIELDS["rounds.form"]}),
            tell=advance,
        ):
            by_round[round_of[pitfall.item or ""]].append(pitfall)
    for round, pitfalls in by_round.items():
        out.records(f"{round}/pitfalls.jsonl", pitfalls, private=True)
    every = [pitfall for pitfalls in by_round.values() for pitfall in pitfalls]
    hit = len({pitfall.item for pitfall in every})
    return {"items": len(items), "items_with_pitfalls": hit, "pitfalls": len(every)}


def describe_pitfalls(pitfalls: Sequence[Pitfall], round: str, items: int) -> str:
    """How many of a round's items have pitfalls, and which, in one line; empty if none has."""
    if not pitfalls:
        return ""
    by_code = Counter(code for code, _ in {(p.code, p.item) for p in pitfalls})
    common = sorted(by_code.items(), key=lambda pair: (-pair[1], pair[0]))
    codes = ", ".join(f"{code} {n}" for code, n in common)
    hit = len({pitfall.item for pitfall in pitfalls})
    return (
        f"pitfalls in {hit} of {amount(items, 'item')}: {codes}; see "
        f"2-rounds/{round}/pitfalls.jsonl"
    )


@step(
    "items and labels from raw answers",
    folder="rounds",
    version=15,
    makes=(ITEMS, LABELS, ANSWERS, REJECTED, FLAGS, CHECKS, TYPING, PEOPLE),
    reads=(TERMS,),
    as_it_is=(RAW, TASKS, TEXTS, PLANS, ANSWERED, CONSENTS, OUT, CORRECTIONS, KEY, META_TEXT),
    settings=("campaign.language", "domains.names", "rounds.letting_in", "rounds.caps"),
    blocked=no_answers,
    applies=raw_is_here,
    lasting=True,
)
def answers(campaign: Campaign, out: Out) -> dict[str, int]:
    """Fold the raw answers of all rounds into items, labels, reviews and rejections."""
    from curation.rounds.gate import lines

    rounds = campaign.round_names()
    planned = campaign[PLANS]
    folded, read_answers = folded_answers(campaign, campaign[OUT], out)
    for round in rounds:
        items = (item for item in folded.items if item.round == round)
        out.records(f"{round}/items.jsonl", items, private=True)
        labels = (row for row in folded.labels if row.round == round)
        out.lines(f"{round}/labels.jsonl", lines(labels))
        rejected = folded.rejections.get(round, [])
        out.records(f"{round}/rejected.jsonl", rejected, private=True)
        if plan := planned.get(round):
            kind = ROUNDS[plan.kind]
            out.lines(f"{round}/answers.jsonl", lines(folded.answers.get(round, [])))
            out.records(f"{round}/flags.jsonl", (f for f in folded.flags if f.round == round))
            if kind.work == "review":
                reviews = (r for r in folded.reviews if r.round == round)
                out.records(f"{round}/reviews.jsonl", reviews)
            if kind.writes:
                out.records(f"{round}/typing.jsonl", folded.typing.get(round, []), private=True)
            if kind.work == "label":
                out.records(f"{round}/checks.jsonl", folded.checks.get(round, []), private=True)
    out.records("people.jsonl", folded.people, private=True)
    out.json(SEGMENTS, campaign.digests(campaign[RAW]))
    apart = campaign.neutral_rounds
    return {
        "answers": read_answers,
        "items": sum(item.round not in apart for item in folded.items),
        "labels": sum(label.round not in apart for label in folded.labels),
        "reviews": len(folded.reviews),
        "people": len(people.who_answered(folded.people)),
        "rejected": sum(map(len, folded.rejections.values())),
    }


def folded_answers(
    campaign: Campaign,
    out: Mapping[str, tuple[str, str]],
    reporter: Reporter,
    *,
    more: Sequence[Correction] = (),
) -> "tuple[Folded, int]":
    """The raw answers of all rounds, folded; and how many they are. Nothing is written.

    Args:
        campaign: the campaign.
        out: by pseudonym of people whose answers do not count, the reason code and the reason.
        reporter: where progress goes.
        more: corrections to apply after those of the campaign.
    """
    from curation.checks import content
    from curation.rounds.answers.interpret import interpret
    from curation.rounds.fold import fold
    from curation.rounds.gate import Rules

    rounds, settings = campaign.round_names(), campaign.settings
    total = sum(count_lines(path) for path in campaign[RAW])
    planned = campaign[PLANS]
    seen, versions = Counter[str](), campaign[CONSENTS]

    def parsed_answers() -> Iterator[tuple[str, ParsedAnswer]]:
        for round in rounds:
            plan = planned.get(round)
            tasks = {t.id: t for t in campaign.tasks[round]} if plan else {}
            kind = plan.kind if plan else None
            read_answer = partial(
                interpret,
                round=round,
                tasks=tasks,
                kind=kind,
                words=read_words(campaign, round),
            )
            for where, event in archive.read(campaign.folder("rounds") / round / "raw"):
                place = f"{round}/raw/{where}"
                seen[event.source] += 1
                for answer in read_answer(event, where=place):
                    # «no» in a column of that name is not consent; only a version of ours is.
                    if not isinstance(answer, Consented) or answer.version in versions:
                        yield round, answer
                advance()
            campaign.forget(TASKS)  # those of many rounds need much memory

    corrections = [*campaign.corrections, *more]
    patterns = content.meta_patterns(settings.campaign.language)
    rules = Rules(
        domains=tuple(settings.domains),
        terms=terms.term_ids(campaign.terms.values()),
        near=partial(content.near, likeness=settings.rounds.near),
        meta=partial(content.meta_text, patterns=patterns),
        standing=out,
        caps={work: caps_of(settings.rounds, work) for work in WORKS},
        corrections=grouped((each.item, each) for each in corrections),
        opened={r.name: r.opened_at for r in planned.values() if r.opened_at},
        **settings.rounds.model_dump(include={*FIELDS["rounds.letting_in"]} - {"near"}),
    )
    pseudonym = people.pseudonyms(campaign[KEY])
    with reporter.tracked("reading answers", total) as advance:
        folded = fold(parsed_answers(), rules, pseudonym)
    return folded, seen.total()


def fold_answers(campaign: Campaign, *, reporter: Reporter = QUIET) -> None:
    """Bring items, labels and the checks of items up to date, if there are answers.

    Without raw answers, items and labels are taken as they are, and only the terms are selected.
    Call it only under the campaign's lock.
    """
    if campaign.round_names():
        last = item_pitfalls if raw_files(campaign) else terms.select
        run_steps(campaign, last, reporter=reporter)


Refusals = Counter[tuple[str, str]]
"""Refused answers, counted by reason code and place in the archive."""


def refusals(campaign: Campaign) -> Refusals:
    """All refused answers of all rounds: an answer to one round can change those of another.

    The detail of a rejection is not part of it: its words differ between versions.
    """
    return Counter(
        (rejection.code, rejection.where)
        for path in campaign.folder("rounds").glob("*/rejected.jsonl")
        for rejection in campaign.rejected[path.parent.name]
    )


def new_refusals(campaign: Campaign, before: Refusals) -> Counter[str]:
    """By reason code, how many answers were refused since ``refusals`` gave ``before``."""
    return Counter(code for code, _ in (refusals(campaign) - before).elements())
