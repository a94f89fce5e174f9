"""What each step of the pipeline does and writes: the stages' functions on files."""

import difflib
import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.cli import round_files
from curation.cli.console import tracked, warn
from curation.cli.reading import (
    raw_files,
    read_counted,
    read_edits,
    read_items,
    read_labels,
    read_met,
    read_terms,
    selection,
    stopped_early,
    term_ids,
    terms_of,
)
from curation.files import (
    CurationError,
    count_lines,
    dump_json,
    read_json,
    read_records,
    shipped,
)
from curation.manifest import Results
from curation.records import Cat, Decision, Label, Rejection

if TYPE_CHECKING:
    import pandas as pd


LETTING_IN = {
    *("per_person", "per_term", "consent", "write_seconds", "label_seconds", "near"),
    *("name_target", "blank_alone", "keep_deleted"),
}
"""The settings of [rounds] that say which answers are let in; the others plan rounds."""
CANDIDATE_COLUMNS = (
    *("domain", "term", "status", "reason", "detail", "into", "count", "rolled_up"),
    *("source", "form", "wikidata", "description", "family", "note", "id"),
)


def select(campaign: Campaign, results: Results) -> dict[str, int]:
    """Choose the target terms."""
    import pandas as pd

    found = selection(campaign)
    for rejection in found.rejections:
        warn(
            f"{rejection.where}: {rejection.detail}; write it exactly as in candidates.csv, or add"
        )
    _warn_of_domains(campaign)
    rows = [
        (
            *(c.domain, c.text, c.status, c.reason, c.detail, c.into and c.into.text),
            *((c.count, c.rolled) if c.item else (None, None)),
            *(c.source, c.form, " ".join(c.items), c.description, c.family, c.note, c.id),
        )
        for c in found.candidates
    ]
    table = pd.DataFrame(rows, columns=CANDIDATE_COLUMNS, dtype=object)
    results.lines("candidates.csv", [table.to_csv(index=False, lineterminator="\n").encode()])
    results.records("targets.jsonl", found.terms)
    results.records("rejected.jsonl", found.rejections)
    status, edits = Counter(c.status for c in found.candidates), read_edits(campaign)
    met, domains = read_met(campaign), campaign.settings.domains
    return {
        "candidates": len(found.candidates),
        "kept": status["kept"],
        "merged": status["merged"],
        "dropped": status["dropped"],
        "terms_of_other_domains": sum(term.domain not in domains for term in met),
        "edits_in": len(edits),
        "edits_of_other_domains": sum(edit.domain not in domains for edit in edits),
        "edits_refused": len(found.rejections),
    }


def _warn_of_domains(campaign: Campaign) -> None:
    """Say which rows of edits.csv name a domain that is misspelt."""
    domains = campaign.settings.domains
    for edit in read_edits(campaign):
        near = difflib.get_close_matches(edit.domain, domains, 1)
        if edit.domain not in domains and near:
            place = campaign.terms / "edits.csv"
            warn(f"{place} line {edit.line}: no domain {edit.domain!r}; is it {near[0]!r}?")


def fold(campaign: Campaign, results: Results) -> dict[str, int]:
    """Fold the raw answers of all rounds into items, labels, reviews and rejections."""
    from curation.checks import content
    from curation.rounds import archive, people, standing
    from curation.rounds import fold as stage
    from curation.rounds.answers import interpret
    from curation.rounds.said import Consented, Said

    rounds, settings = campaign.round_names(), campaign.settings
    total = sum(count_lines(path) for path in raw_files(campaign))
    planned = {r.name: r for r in round_files.map_rounds(campaign)}
    seen, shown = Counter[str](), round_files.consents(campaign)

    def said() -> Iterator[tuple[str, Said]]:
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
    with tracked("reading answers", total) as advance:
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


def filter(campaign: Campaign, results: Results) -> dict[str, int]:
    """Count labels and decide items."""
    from curation.decisions.filter import judge, tiers

    knobs = campaign.settings.decisions
    unknown = set(knobs.rounds) - set(campaign.round_names())
    if unknown:
        raise CurationError(
            f"[decisions] rounds names {min(unknown)!r}, which has no answers",
            f"rounds with answers: {', '.join(campaign.round_names())}",
        )
    items = read_items(campaign)
    for name in sorted(set(knobs.leave_out) - {item.id for item in items}):
        warn(f"[decisions] leave_out names {name!r}, which is no item here")
    counted = read_counted(campaign, items)
    decisions = judge(
        items,
        counted.votes,
        needed=knobs.needed,
        of=knobs.of,
        match_intent=knobs.match_intent,
        leave_out=frozenset(knobs.leave_out),
    )
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
            detail=f"golds {', '.join(str(v.gold) for v in decision.verdicts)}",
            where=f"item {item.id}",
            record=item.model_dump(mode="json"),
        )
        for item, decision in zip(items, decisions, strict=True)
        if not decision.kept
    ]
    results.records("decisions.jsonl", decisions)
    results.records("rejected.jsonl", rejections)
    reasons = Counter(r.code for r in rejections)
    return {
        "labels_in": len(counted.labels),
        "labels_counted": len(counted.labels) - len(refused),
        "labels_refused": len(refused),
        "items_in": len(items),
        "items_kept": sum(d.kept for d in decisions),
        "items_dropped": sum(not d.kept for d in decisions),
        **tiers(items, decisions),
        **dict(sorted(reasons.items())),
    }


def agreement_report(
    campaign: Campaign,
    *,
    measures: Sequence[str],
    by: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> dict[str, Any]:
    """All that ``agreement.json`` holds, or a part of it under other knobs; by all groups."""
    from curation.decisions import agreement
    from curation.decisions.filter import repeats

    settings = campaign.settings
    items = read_items(campaign)
    decisions = read_records(campaign.decisions / "decisions.jsonl", Decision)
    terms = terms_of(campaign, items)
    # Where labels stop as soon as an item is decided they agree too well: a random part of the
    # items gets all of them, and speaks for the rest.
    early = stopped_early(campaign)
    speak = [(i, d) for i, d in zip(items, decisions, strict=True) if i.id not in early]
    counted = read_counted(campaign, [item for item, _ in speak], alone=bool(early))
    exclude = [_pseudonym(campaign, name, counted.labels) for name in exclude]
    found = agreement.facts(
        [item for item, _ in speak], [d for _, d in speak], counted, terms, exclude=exclude
    )
    by = agreement.GROUPS if by is None else by
    groups = ["overall", *(b for b in by if b != "annotator")]
    rows: list[dict[str, Any]] = []
    with tracked("agreement", len(groups)) as advance:
        for group in groups:
            rows += agreement.measured(
                found,
                by=group,
                measures=measures,
                confidence=settings.agreement.confidence,
            )
            advance()
    knobs = settings.decisions.model_dump(exclude={"count_repeats", "leave_out"})
    touched = repeats(items, read_labels(campaign), **knobs)
    return {
        "confidence": settings.agreement.confidence,
        "excluded": sorted(exclude),
        "items": {"in": len(items), "stopped_early": len(items) - len(speak)},
        "measures": rows,
        "terms": agreement.by_term(found),
        "annotators": agreement.by_annotator(found),
        "retention": agreement.retention(items, decisions, terms),
        "gold": agreement.intent(items, decisions),
        "repeats": touched._asdict(),
    }


def _pseudonym(campaign: Campaign, name: str, labels: "pd.DataFrame") -> str:
    """The annotator whom a pseudonym, or with the key a platform's id, names."""
    from curation.rounds import people

    known = set(labels["annotator"].unique())
    if name not in known and people.key_path(campaign.settings.campaign.id).exists():
        name_here = people.pseudonyms(people.read_key(campaign.settings.campaign.id))(name)
        if name_here in known:
            return name_here
    if name not in known:
        raise CurationError(
            f"no annotator {name!r}", "names stand in «curation decisions agreement --by annotator»"
        )
    return name


def agreement(campaign: Campaign, results: Results) -> dict[str, int]:
    """Report agreement in full."""
    report = agreement_report(campaign, measures=campaign.settings.agreement.measures)
    results.json("agreement.json", report)
    return {"figures": len(report["measures"]), "annotators": len(report["annotators"])}


def split(campaign: Campaign, results: Results) -> dict[str, int]:
    """Put the kept CATs into dev and test."""
    from curation.decisions.split import cats, report

    dev, seed = campaign.settings.split.dev, campaign.settings.campaign.seed
    items = read_items(campaign)
    decisions = read_records(campaign.decisions / "decisions.jsonl", Decision)
    found = cats(items, decisions, terms_of(campaign, items).values(), dev=dev, seed=seed)
    results.records("cats.jsonl", found)
    results.json("split.json", report(found, dev=dev))
    return {
        "items_in": len(items),
        "items_dropped": len(items) - len(found),
        "cats": len(found),
        "dev": sum(cat.split == "dev" for cat in found),
        "test": sum(cat.split == "test" for cat in found),
    }


def _accepted(campaign: Campaign) -> dict[str, int]:
    """The pitfalls that would block the release and are accepted, and how often they are there.

    Raises:
        CurationError: one is there that blocks it; or what is accepted is no pitfall.
    """
    from curation.checks.codes import PITFALLS

    accept = campaign.settings.release.accept
    for name in accept:
        if name not in PITFALLS:
            near = difflib.get_close_matches(name, PITFALLS, 1)
            raise CurationError(
                f"[release] accept names {name!r}, which is no pitfall",
                f"did you mean {near[0]!r}?" if near else "docs/measures.md lists them",
            )
    rows = read_json(campaign.measures / "pitfalls.json")["table"]
    there = {r["code"]: r["count"] for r in rows if r["severity"] == "block" and r["count"]}
    stops = {code: count for code, count in there.items() if code not in accept}
    if stops:
        named = ", ".join(f"{code} {count}" for code, count in stops.items())
        wanted = ", ".join(f'"{code}"' for code in (*accept, *stops))
        raise CurationError(
            f"pitfalls block the release: {named}; 4-measures/pitfalls.jsonl has each place",
            "mend the texts; or leave the items out (leave_out in [decisions]); or, where it is "
            f"right as it is: accept = [{wanted}] in [release]",
        )
    return there


def release(campaign: Campaign, results: Results) -> dict[str, int]:
    """Write the published folder."""
    from curation.release import build

    settings, version = campaign.settings, campaign.settings.release.version
    cats = read_records(campaign.decisions / "cats.jsonl", Cat)
    if not cats:
        raise CurationError(
            "no CAT was kept, so there is nothing to release",
            "«curation decisions filter» says why items fall; are the labels in?",
        )
    accepted = _accepted(campaign)
    items = read_items(campaign)
    counted = read_counted(campaign, items)
    table = build.annotations(cats, counted.labels)
    content = {
        name: dump_json(data)
        for name, data in build.split_files(cats, table, version=version).items()
    }
    content["annotations.csv"] = table.to_csv(index=False, lineterminator="\n").encode()
    text = shipped("annotation_configs", "text", f"{settings.campaign.language}.toml")
    text = text if text.exists() else text.with_name("en.toml")
    texts = tomllib.loads(text.read_text("utf-8"))
    content["README.md"] = build.readme(
        cats,
        table,
        name=settings.campaign.name,
        version=version,
        language=settings.campaign.language,
        licence=settings.release.licence,
        warning=texts["content_warning"]["release"],
        decisions=build.how_decided(settings.decisions.model_dump()),
        accepted=accepted,
    ).encode()
    for name, data in content.items():
        results.lines(f"{version}/{name}", [data])
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in content.items()]
    results.lines(f"{version}/SHA256SUMS", [line.encode() for line in sums])
    return {
        "cats": len(cats),
        "labels_in": len(counted.labels),
        "labels_of_dropped_items": int((~counted.labels["item"].isin([c.id for c in cats])).sum()),
        "annotations": len(table),
    }
