"""Numbers about a campaign: how it came about, its state, and what its team says.

«How it came about» is what fell out where, rounds, pace, people, pitfalls.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from curation.campaign.step import Step, last_run
from curation.campaign.store import Campaign
from curation.checks.codes import PITFALLS
from curation.decisions import steps as decisions
from curation.files import read_json, read_text
from curation.formats.tables import read_csv
from curation.kinds import CAT_KINDS
from curation.reasons import REASONS
from curation.records import Rejection
from curation.release import versions
from curation.release.statement import read_statement
from curation.release.texts.questions import QUESTIONS, SECTIONS, open_keys
from curation.released.contents import SPLITS
from curation.rounds.answers import people
from curation.rounds.progress import NOT_SHOWN
from curation.status import UP_TO_DATE, Status, read_status

IMPORTED = "imported"  # the kind of a round that was not opened here
SHOWN = 4  # the parts of a stage that are shown beside all others together
_LABELLED = ("items.jsonl", "labels.jsonl", "rejected.jsonl")  # they have labels or intents


def inputs(campaign: Campaign, *, hidden: bool) -> list[Path]:
    """The files that the numbers are computed from, apart from results that the report shows.

    Args:
        campaign: the campaign.
        hidden: without the files that depend on labels, whose sha256 would be known then.
    """
    files = ("round.json", "answers.jsonl", *(() if hidden else _LABELLED))
    paths = [
        campaign.folder("rounds") / name / file for name in _rounds(campaign) for file in files
    ]
    if not hidden:
        paths += [campaign.folder("decisions") / "decisions.jsonl", _published(campaign)]
    return [path for path in (_candidates(campaign), *paths) if path.exists()]


def numbers(campaign: Campaign, *, hidden: bool) -> dict[str, Any]:
    """What no step keeps about how a campaign came about; a part without answers is empty.

    ``stages`` say what became of terms, items, labels and CATs: how many there were, and of these
    the ``parts`` that were kept or fell out, with the reason; ``others`` are in the parts after the
    first ``SHOWN``. ``rounds`` are the rounds in the order of their first answers, ``days`` the
    answers that came in on each day.

    Args:
        campaign: the campaign.
        hidden: leave out all that depends on labels' values.

    Raises:
        CurationError: a file is damaged.
    """
    answers = {name: _answers(campaign, name) for name in _rounds(campaign)}
    days = Counter(day for sent in answers.values() for _, day, _ in sent if day)
    stages = [_terms(campaign), _items(campaign)]
    made: dict[str, Any] = {
        "rounds": sorted(
            (_round(campaign, name, sent) for name, sent in answers.items()),
            key=lambda row: (row["first"] or "", row["name"]),
        ),
        "days": [{"day": day, "answers": days[day]} for day in sorted(days)],
    }
    if not hidden:
        stages += [_labels(campaign), _kept(campaign), _split(campaign)]
    made |= {
        "doubtful": None if hidden else _doubtful(campaign),
        "pitfalls": None if hidden else _pitfalls(campaign),
        "enough_alpha": campaign.settings.trust.agreement,
        "named": not hidden and _published(campaign).exists(),
    }
    return made | {"stages": [stage for stage in stages if stage and stage["of"]]}


def _candidates(campaign: Campaign) -> Path:
    return campaign.folder("terms") / "candidates.csv"


def _published(campaign: Campaign) -> Path:
    """The labels in the release, which have pseudonyms; only if it is there, people are named."""
    return versions.version_folder(campaign) / "annotations.csv"


def _rounds(campaign: Campaign) -> list[str]:
    return sorted({*campaign.round_names(), *(each.name for each in campaign.rounds)})


def _stage(name: str, fell: Mapping[str, int], **kept: int) -> dict[str, Any]:
    """What became of something: parts that were kept, then why the others fell, most first."""
    ordered = sorted(fell.items(), key=lambda part: (-part[1], part[0]))
    parts: list[dict[str, Any]] = [{"code": c, "means": "", "n": n} for c, n in kept.items()]
    parts += [{"code": code, "means": REASONS[code], "n": n} for code, n in ordered if n]
    others = sum(part["n"] for part in parts[SHOWN:])
    return {"name": name, "of": sum(p["n"] for p in parts), "parts": parts, "others": others}


def _terms(campaign: Campaign) -> dict[str, Any] | None:
    path = _candidates(campaign)
    if not path.exists():
        return None
    rows = [row for _, row in read_csv(read_text(path), path)[1]]
    fell = Counter(str(row["reason"]) for row in rows if row["status"] != "kept")
    return _stage("terms", fell, kept=len(rows) - fell.total())


def _items(campaign: Campaign) -> dict[str, Any]:
    fell: Counter[str] = Counter()
    for name in _rounds(campaign):
        kind = _kind(campaign, name)
        for rejection in _refused(campaign, name):
            is_writing = not any(column.startswith("label") for column in rejection.record)
            if kind in CAT_KINDS or (kind == IMPORTED and is_writing):
                fell[rejection.code] += 1
    return _stage("items", fell, kept=len(campaign.items))


def _labels(campaign: Campaign) -> dict[str, Any] | None:
    run = last_run(campaign, decisions.filter)
    if run is None:
        return None
    codes = ("round_not_counted", "repeated_annotator", "surplus_label")
    fell = {code: run.counts.get(code, 0) for code in codes}
    return _stage("labels", fell, kept=run.counts["labels_counted"])


def _kept(campaign: Campaign) -> dict[str, Any]:
    decisions = campaign.decisions
    fell = Counter(decision.reason for decision in decisions if decision.reason)
    return _stage("cats", fell, kept=len(decisions) - fell.total())


def _split(campaign: Campaign) -> dict[str, Any] | None:
    path = campaign.folder("decisions") / "split.json"
    if not path.exists():
        return None
    domains = read_json(path)["domains"].values()
    return _stage("split", {}, **{s: sum(d[f"{s}_cats"] for d in domains) for s in SPLITS})


def _kind(campaign: Campaign, name: str) -> str:
    is_planned = (campaign.folder("rounds") / name / "round.json").exists()
    return campaign.round(name).kind if is_planned else IMPORTED


def _refused(campaign: Campaign, name: str) -> list[Rejection]:
    return [each for each in campaign.rejected[name] if each.code not in NOT_SHOWN]


Sent = tuple[str | None, str, str | None]  # a person, the day or "", the reason of a refusal


def _answers(campaign: Campaign, name: str) -> list[Sent]:
    """The answers that came in; those that an import refused have neither person nor day."""
    path = campaign.folder("rounds") / name / "answers.jsonl"
    if path.exists():
        sent = (a for a in campaign.answers[name] if a.code not in NOT_SHOWN)
        return [(a.annotator, _day(a.submitted_at), a.code) for a in sent]
    items = (item for item in campaign.items if item.round == name)
    labels = campaign.labels if campaign.round_names() else None
    made: list[Sent] = [(i.writer, _day(i.submitted_at), None) for i in items if i.writer]
    if labels is not None:
        own = labels[labels["round"] == name].drop_duplicates(["item", "annotator"])
        times = own["submitted_at"].astype(object).fillna("")
        made += [(who, _day(at), None) for who, at in zip(own["annotator"], times, strict=True)]
    return made + [(None, "", rejection.code) for rejection in _refused(campaign, name)]


def _day(time: str | None) -> str:
    return (time or "")[:10]


def _round(campaign: Campaign, name: str, sent: Collection[Sent]) -> dict[str, Any]:
    is_planned = (campaign.folder("rounds") / name / "round.json").exists()
    days = [day for _, day, _ in sent if day]
    return {
        "name": name,
        "kind": _kind(campaign, name),
        "state": campaign.round(name).state if is_planned else "",
        "people": len({person for person, _, code in sent if person and code is None}),
        "answers": len(sent),
        "refused": sum(code is not None for _, _, code in sent),
        "first": min(days, default=None),
        "last": max(days, default=None),
    }


def _doubtful(campaign: Campaign) -> dict[str, Any] | None:
    """How far each person agrees with the others, as in agreement.json, and who is doubtful."""
    path = campaign.folder("decisions") / "agreement.json"
    people = read_json(path)["annotators"] if path.exists() else []
    shares = [person["with_others"] for person in people if person["with_others"] is not None]
    if not shares:
        return None
    return {
        "people": len(people),
        "doubtful": sum(person["suspect"] for person in people),
        "median": median(shares),
        "least": min(shares),
        "most": max(shares),
    }


def _pitfalls(campaign: Campaign) -> dict[str, Any] | None:
    """The pitfalls beside StereoSet's rates: those that stop a release, then the most frequent."""
    path = campaign.folder("measures") / "pitfalls.json"
    if not path.exists():
        return None
    checked = [row for row in read_json(path)["table"] if row["rate"] is not None]
    order = ("block", "warn", "note")
    found = sorted(
        (row for row in checked if row["count"]),
        key=lambda row: (order.index(row["severity"]), -row["rate"], row["code"]),
    )
    names = ("code", "severity", "count", "of", "rate", "stereoset")
    return {
        "checked": len(checked),
        "found": len(found),
        "blocking": sum(row["severity"] == "block" for row in found),
        "more": sum(row["rate"] > (row["stereoset"] or 0) for row in found),
        "rows": [
            {"says": PITFALLS[row["code"]].says} | {name: row[name] for name in names}
            for row in found
        ],
    }


_WITHOUT_LABELS = ("select", "answers")
"""The steps whose counts depend on nobody's labels."""
_OPEN = ("round", "kind", "state", "tasks", "people", "answers", "refused", "asked", "cost")
"""What a round's progress tells of no label; its pace and end depend on the time of day."""
_TIMED = ("per_day", "done_at")


def state(
    campaign: Campaign, pipeline: Sequence[Step], *, hidden: bool, status: Status | None = None
) -> dict[str, Any]:
    """The state of a campaign, as ``curation status`` and ``curation rounds status`` say it.

    Args:
        campaign: the campaign.
        pipeline: the steps before the report.
        hidden: leave out what depends on labels: counts of steps, warnings, which items are
            decided.
        status: the state, if it is known.

    Returns:
        ``steps`` (by name: state, fix, counts and note), ``rounds``, ``work``, ``scores``,
        ``warnings`` and ``next`` as in ``Status``; ``people`` with an answer that
        counts; ``cost`` of the rounds that were opened here, in ``currency``. Paths are relative to
        the campaign's folder.
    """
    status = status or read_status(campaign, pipeline)
    steps = {
        step.step: {
            "state": step.state,
            "fix": step.fix,
            "counts": step.counts if not hidden or step.step in _WITHOUT_LABELS else {},
            "note": step.note if step.state == UP_TO_DATE else "",  # what changed is the team's
        }
        for step in status.steps
    }
    work = [
        {
            name: value
            for name, value in progress._asdict().items()
            if name not in _TIMED and (name in _OPEN or not hidden)
        }
        for progress in status.work
    ]
    rounds = campaign.settings.rounds
    content = {
        "steps": steps,
        "rounds": [row._asdict() for row in status.rounds],
        "work": work,
        "scores": [run._asdict() for run in status.scores],
        "warnings": [] if hidden else status.warnings,
        "next": status.next,
        "people": len(people.who_answered(campaign.people)),
        "cost": {
            "currency": rounds.currency,
            "now": round(sum(progress.cost for progress in status.work), 2),
            "budget": rounds.budget or None,
        },
    }
    text = orjson.dumps(content).decode()
    for folder in dict.fromkeys((campaign.root.resolve(), campaign.root)):
        text = text.replace(f"{folder.as_posix()}/", "") if folder.is_absolute() else text
    return dict(orjson.loads(text))


def statement(campaign: Campaign) -> dict[str, Any]:
    """What the team says of the dataset, and which questions it has not answered.

    Returns:
        ``description``, ``warning`` and others as in ``release.json``; ``answers``, each with its
        section, question and text; ``open`` with the open questions of the data statement, and
        ``attest`` with those of the trust report.
    """
    from curation.release.collecting import warning
    from curation.trust.protocol.attested import questions

    said = read_statement(campaign)
    trust = campaign.folder("trust") / "report.json"
    report = read_json(trust) if trust.exists() else {}
    missing = {*open_keys(said)}
    release = campaign.settings.release
    answers = [
        {"section": SECTIONS[q.section], "question": q.text, "answer": said.answer(q.key)}
        for q in QUESTIONS
        if not q.field and q.key not in missing
    ]
    return {
        "version": release.version,
        "licence": release.licence,
        "language": campaign.settings.campaign.language,
        "warning": warning(campaign),
        "authors": [author.name for author in said.authors],
        **{name: getattr(said, name) for name in ("description", "contact", "takedown", "doi")},
        "answers": answers,
        "open": [question.text for question in QUESTIONS if question.key in missing],
        "attest": [q.text for q in questions().asked if q.key in report.get("open", ())],
    }
