"""The step ``fold``: items and labels from raw answers."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.files import (
    count_lines,
)
from curation.manifest import Results
from curation.steps.read import (
    raw_files,
    read_terms,
    term_ids,
)
from curation.steps.reporter import Reporter
from curation.steps.rounds import round_files

if TYPE_CHECKING:
    pass


LETTING_IN = {
    *("per_person", "per_term", "consent", "write_seconds", "label_seconds", "near"),
    *("name_target", "blank_alone", "keep_deleted"),
}
"""The settings of [rounds] that say which answers are let in; the others plan rounds."""


def fold(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Fold the raw answers of all rounds into items, labels, reviews and rejections."""
    from curation.checks import content
    from curation.rounds import people, standing
    from curation.rounds.answers import archive
    from curation.rounds.answers.interpret import interpret
    from curation.rounds.answers.parsed import Consented, ParsedAnswer
    from curation.rounds.folding import fold as stage

    rounds, settings = campaign.round_names(), campaign.settings
    total = sum(count_lines(path) for path in raw_files(campaign))
    planned = {r.name: r for r in round_files.map_rounds(campaign)}
    seen, shown = Counter[str](), round_files.consents(campaign)

    def said() -> Iterator[tuple[str, ParsedAnswer]]:
        for round in rounds:
            plan = planned.get(round)
            tasks = {t.id: t for t in round_files.read_tasks(campaign, round)} if plan else {}
            kind = plan.kind if plan else None
            for where, event in archive.read(campaign.rounds / round / "raw"):
                place = f"{round}/raw/{where}"
                seen[event.source] += 1
                for what in interpret(event, round=round, where=place, tasks=tasks, kind=kind):
                    # «no» in a column of that name is no consent; only a version of ours is.
                    if not isinstance(what, Consented) or what.version in shown:
                        yield round, what
                advance()

    knobs = settings.rounds.model_dump(include=LETTING_IN - {"near"})
    patterns = content.meta_patterns(settings.campaign.language)
    with reporter.tracked("reading answers", total) as advance:
        folded = stage.fold(
            said(),
            domains=tuple(settings.domains),
            terms=term_ids(read_terms(campaign).values()),
            pseudonym=people.pseudonyms(people.read_key(settings.campaign.id)),
            near=partial(content.near, likeness=settings.rounds.near),
            meta=partial(content.meta_text, patterns=patterns),
            standing=standing.out(round_files.read_standing(campaign)),
            **knobs,
        )
    for round in rounds:
        results.records(f"{round}/items.jsonl", (i for i in folded.items if i.round == round))
        labels = (row for row in folded.labels if row.round == round)
        results.lines(f"{round}/labels.jsonl", stage.lines(labels))
        results.records(f"{round}/rejected.jsonl", folded.rejections.get(round, []))
        if round in planned:
            results.lines(f"{round}/answers.jsonl", stage.lines(folded.answers.get(round, [])))
            results.records(f"{round}/flags.jsonl", (f for f in folded.flags if f.round == round))
        if round in planned and planned[round].kind == "review":
            reviews = (r for r in folded.reviews if r.round == round)
            results.records(f"{round}/reviews.jsonl", reviews)
    results.records("people.jsonl", folded.people)
    return {
        "answers": seen.total(),
        "items": len(folded.items),
        "labels": len(folded.labels),
        "reviews": len(folded.reviews),
        "people": len(folded.people),
        "rejected": sum(map(len, folded.rejections.values())),
    }
