"""What a release says for responsible AI, by the names of Croissant's RAI vocabulary 1.0.

Values are plain texts. What only the team can say comes from the answers to the questions; where
an answer is missing, the text says so.
"""

from collections.abc import Mapping, Sequence

from curation.records import KINDS
from curation.release.facts import Facts, RoundFacts
from curation.release.texts.card_made import ANSWER, LIMITS, how_decided, left_out
from curation.release.texts.card_results import MEASURES
from curation.text.wording import amount

NOT_RECORDED = "Not recorded."
ALSO = {
    "dataCollectionTimeFrame": "dataCollectionTimeframe",
    "dataDataManipulationProtocol": "dataManipulationProtocol",
}
"""The names under which mlcroissant 1.1 reads values, and those of the vocabulary."""

UNLABELLED = (
    "Nobody labelled the CATs for this release: their gold labels are those of the data that they "
    "were published in before."
)


def summary(facts: Facts) -> str:
    """The description of a release as plain text: warning, description, size, canary."""
    cats = sum(size.cats for size in facts.sizes)
    domains = ", ".join(dict.fromkeys(size.domain for size in facts.sizes))
    parts = [
        facts.warning,
        facts.statement.description,
        f"{amount(cats, 'Context Association Test')} in the style of StereoSet, language "
        f"{facts.language}, domains: {domains}.",
        f"Canary GUID {facts.canary}: this data must not be in training corpora.",
    ]
    return "\n\n".join(part for part in parts if part)


def responsible(facts: Facts) -> dict[str, str | list[str]]:
    """The values by their names without prefix, without those that are empty."""
    values: dict[str, str | list[str]] = {
        "dataCollection": _collection(facts),
        "dataCollectionType": _collection_types(facts),
        "dataCollectionTimeframe": _timeframe(facts.rounds),
        "dataCollectionMissingData": _missing(facts),
        "dataCollectionRawData": "The answers as people gave them are not part of the release.",
        "dataPreprocessingProtocol": _kept(facts),
        "dataManipulationProtocol": _manipulation(facts),
        "dataAnnotationProtocol": [
            how_decided(facts.decisions) if _labelled(facts) else UNLABELLED,
            *_instructions(facts),
        ],
        "dataAnnotationPlatform": list(
            dict.fromkeys(round.platform for round in facts.rounds if round.platform)
        ),
        "dataAnnotationAnalysis": _agreement(facts),
        "annotationsPerItem": _per_item(facts),
        "annotatorDemographics": [
            f"People who wrote the texts: {_answer(facts, 'writers')}",
            f"People who labelled the texts: {_answer(facts, 'validators')}",
        ],
        "dataBiases": _biases(facts),
        "dataUseCases": _uses(facts),
        "dataLimitations": [
            *(f"{limit.title} {limit.text}" for limit in LIMITS),
            *_given(facts, "limits"),
        ],
        "dataSocialImpact": " ".join([facts.warning, *_given(facts, "groups")]),
        "personalSensitiveInformation": _personal(facts),
        "dataReleaseMaintenancePlan": _maintenance(facts),
    }
    values |= {name: values[own] for name, own in ALSO.items()}
    return {name: value for name, value in values.items() if value}


def _given(facts: Facts, key: str) -> list[str]:
    """The team's answer to a question, if there is one."""
    answer = facts.statement.answers.get(key, "").strip()
    return [answer] if answer else []


def _answer(facts: Facts, key: str) -> str:
    return next(iter(_given(facts, key)), NOT_RECORDED)


def _collection(facts: Facts) -> str:
    rounds = [_round(round) for round in facts.rounds]
    rounds += [ANSWER] if any(round.answers for round in facts.rounds) else []
    return " ".join([*rounds, *_given(facts, "sources"), *_given(facts, "recruitment")]).strip()


def _round(round: RoundFacts) -> str:
    days = f", {round.first} to {round.last}" if round.first and round.last else ""
    refused = f" ({round.refused:,} more were refused)" if round.refused else ""
    answers = f"{amount(round.answers, 'answer')} by {amount(round.people, 'person', 'people')}"
    if round.published:
        answers = f"data that was published before{f', {answers}' if round.answers else ''}"
    return f"Round {round.name} ({round.kind}{days}): {answers}{refused}."


def _collection_types(facts: Facts) -> list[str]:
    before = [round.published for round in facts.rounds]
    published = any(before) or bool(facts.translated or facts.without_votes)
    own = not all(before) or any(facts.people.get(kind) for kind in KINDS)
    return [
        *(["Manual Human Curator"] if own or not published else []),
        *(["Secondary Data Analysis"] if published else []),
    ]


def _timeframe(rounds: Sequence[RoundFacts]) -> list[str]:
    days = sorted(day for round in rounds for day in (round.first, round.last) if day)
    return [days[0], days[-1]] if days else []


def _missing(facts: Facts) -> str:
    if not facts.without_votes:
        return ""
    return (
        f"CATs without labels: {facts.without_votes:,}. Their gold labels are those of the data "
        "that they were published in before."
    )


def _kept(facts: Facts) -> list[str]:
    decided = [
        f"{row.domain}, {row.kind}: {amount(row.items, 'item')} decided, {row.kept:,} kept as CATs."
        for row in facts.retention
        if (row.domain == "all") == (row.kind == "all")
    ]
    return [*left_out(facts), *decided]


def _manipulation(facts: Facts) -> str:
    imported = any(round.kind == "import" for round in facts.rounds)
    before = " or the ids with which their labels were published before" if imported else ""
    accepted = [f"{p.code} {p.count}" for p in facts.pitfalls if p.accepted and p.count]
    return " ".join(
        [
            f"Annotators have pseudonyms{before}. What a writer meant is not published.",
            *(
                [f"Known pitfalls that the team accepts: {', '.join(accepted)}."]
                if accepted
                else []
            ),
            *_given(facts, "editing"),
        ]
    )


def _instructions(facts: Facts) -> list[str]:
    """What people read, without repeating a text that several rounds share."""
    texts = {
        " ".join([*([f"{part.heading}:"] if part.heading else []), *part.lines]): None
        for round in facts.rounds
        for part in round.read
    }
    return list(texts)


def _agreement(facts: Facts) -> list[str]:
    return [
        f"{MEASURES.get(row.measure, row.measure)}, {row.classes}, {row.scope} items: "
        + ("unknown" if row.value is None else f"{row.value:.2f}")
        + (f" [{row.ci[0]:.2f}, {row.ci[1]:.2f}]" if row.ci else "")
        + f", {amount(row.cats, 'item')}, {amount(row.labels, 'label')}"
        for row in facts.agreement
    ]


def _labelled(facts: Facts) -> bool:
    """Whether any gold label was decided by votes."""
    return facts.without_votes < sum(size.cats for size in facts.sizes)


def _per_item(facts: Facts) -> str:
    needed, of = facts.decisions["needed"], facts.decisions["of"]
    if not _labelled(facts):
        return UNLABELLED
    return (
        f"{of} labels of each association decide, and at least {needed} of them must agree. "
        f"Published: {amount(facts.annotations, 'label')} by "
        f"{amount(facts.annotators, 'annotator')}, {facts.counted:,} of them counted."
    )


def _biases(facts: Facts) -> list[str]:
    shares = [
        f"Negative sentiment ({facts.sentiment_by}) among {row.label} associations, "
        f"{'both kinds' if row.kind == 'both' else row.kind}: "
        f"{row.share:.1f} % of {row.cats:,}."
        for row in facts.sentiment
    ]
    baselines = [
        f"A baseline without a language model is beyond chance: {row.model}"
        f" ({'; '.join(row.beyond)})."
        for row in facts.baselines
        if row.beyond
    ]
    return [
        "The texts are stereotypes that people wrote on purpose, and their opposites.",
        *shares,
        *baselines,
    ]


def _uses(facts: Facts) -> list[str]:
    return [
        "Measuring how often a language model prefers stereotypical to anti-stereotypical texts, "
        "and meaningful to meaningless ones (lms, ss and icat).",
        "Not for training: a test does not measure a model that was trained on its texts.",
        *_given(facts, "uses"),
    ]


def _personal(facts: Facts) -> list[str]:
    domains = ", ".join(dict.fromkeys(size.domain for size in facts.sizes))
    return [f"The texts are about social groups by {domains}.", *_given(facts, "personal_data")]


def _maintenance(facts: Facts) -> str:
    statement: Mapping[str, str] = {
        "Contact": facts.statement.contact,
        "Requests for removal": facts.statement.takedown,
    }
    return " ".join(
        [
            _answer(facts, "maintenance"),
            *(f"{name}: {address}." for name, address in statement.items() if address),
        ]
    )
