"""The measured parts of a release's card, as tables: from agreement to the scores of models."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from curation.formats.markdown import inline, table
from curation.release.facts import Facts, Interval, PitfallCount, ScoreRow
from curation.text.wording import amount

MEASURES = {"alpha": "Krippendorff's alpha", "fleiss": "Fleiss' kappa", "ac1": "Gwet's AC1"}
FEW = "`*`: too few terms or CATs for a reliable interval."
INTERVALS = (
    "In brackets: the 95 % interval, which says how much the value may differ with other target "
    "terms of the same sort."
)
IMPORTED = (
    "If imported items had been chosen by agreement before, as in a dataset that was published, "
    "all these values and the share of items that were kept are too high."
)
HIDDEN = "Not published, because it would say too much about the hidden gold labels."
HIDDEN_SCORES = "No scores of models are published for this release."
UNITS = {
    "cat": ("CAT", "CATs"),
    "option": ("association", "associations"),
    "target": ("term", "terms"),
    "domain": ("domain", "domains"),
}
"""What pitfalls count, one and many; the dataset as a whole is not counted."""


def number(value: float | None, digits: int = 1) -> str:
    """A value as cards show it; a dash if there is none.

    >>> number(66.666), number(0.4651, 2), number(None)
    ('66.7', '0.47', '–')
    """
    return "–" if value is None else f"{value:,.{digits}f}"


def ranged(value: float | None, ci: Interval, *, digits: int = 1, few: bool = False) -> str:
    r"""A value with its interval, and a mark if there is little data.

    >>> ranged(50.0, (20.0, 80.04)), ranged(50.0, None, few=True)
    ('50.0 (20.0 to 80.0)', '50.0\\*')
    """
    shown = number(value, digits) + (r"\*" if few and value is not None else "")
    return shown if value is None else shown + _bounds(ci, digits)


def _bounds(ci: Interval, digits: int = 1) -> str:
    return "" if ci is None else f" ({number(ci[0], digits)} to {number(ci[1], digits)})"


def agreement(facts: Facts) -> list[str]:
    """Agreement between annotators."""
    if not facts.agreement:
        hidden = facts.hidden and facts.annotations and not facts.is_sealed
        return [HIDDEN if hidden else "No agreement between annotators is recorded.", ""]
    rows = [
        (
            *(
                inline(row.scope),
                inline(row.classes),
                MEASURES.get(row.measure, inline(row.measure)),
            ),
            ranged(row.value, row.ci, digits=2, few=row.few),
            *(f"{row.cats:,}", f"{row.labels:,}"),
        )
        for row in facts.agreement
    ]
    levels = {f"{100 * row.confidence:g} %" for row in facts.agreement}
    value = f">value ({' or '.join(sorted(levels))} interval)"
    heads = ("scope", "labels compared", "measure", value, ">items", ">labels")
    notes = [
        "`kept` are the published CATs only, which were chosen because people agree on them. "
        "`decided` are all items with enough labels, so it is the fairer value. `stereo/anti` "
        "leaves out unrelated associations. The intervals say how much the values may differ with "
        "other CATs of the same sort."
    ]
    labelled = sum(size.cats for size in facts.sizes) - facts.without_votes
    used = [row.cats for row in facts.agreement if (row.scope, row.classes) == ("kept", "all")]
    if used and max(used) < labelled:
        notes.append(
            "Some labelled items are left out here: they got no more labels once they were "
            "decided, so they would raise agreement."
        )
    notes += [IMPORTED] if any(made.kind == "import" for made in facts.rounds) else []
    notes += [FEW] if any(row.few for row in facts.agreement) else []
    return [*table(heads, rows), " ".join(notes), ""]


def retention(facts: Facts) -> list[str]:
    """The share of items that were kept."""
    rows = [
        (
            inline(row.domain),
            inline(row.kind),
            f"{row.items:,}",
            f"{row.kept:,}",
            _percent(row.share),
        )
        for row in facts.retention
    ]
    if not rows:
        return []
    count = sum(r.open for r in facts.retention if (r.domain, r.kind) == ("all", "all"))
    one, many = "has too few labels and was left out", "have too few labels and were left out"
    return [
        *([f"{amount(count, f'item {one}', f'items {many}')}.", ""] if count else []),
        "Items that were decided, and how many of them were kept:",
        "",
        *table(("domain", "kind", ">decided", ">kept", ">share of decided"), rows),
    ]


def sentiment(facts: Facts) -> list[str]:
    """The share of negative associations by gold label."""
    if not (facts.sentiment or facts.sentiment_why or facts.is_sealed) and facts.hidden:
        return [HIDDEN, ""]
    if not facts.sentiment:
        why = f" ({inline(facts.sentiment_why)})" if facts.sentiment_why else ""
        return [f"No sentiment was measured{why}.", ""]
    rows = [
        (
            *(inline(row.kind), inline(row.label), f"{row.cats:,}"),
            f"{number(row.share)} %{_bounds(row.ci)}",
        )
        for row in facts.sentiment
    ]
    by = f", by {inline(facts.sentiment_by)}" if facts.sentiment_by else ""
    return [
        f"Share of negative associations{by}. If stereotypes are much more often negative than "
        "anti-stereotypes, a model can tell them apart by sentiment alone.",
        "",
        *table(("kind", "gold label", ">CATs", ">negative (95 % interval)"), rows),
    ]


def pitfalls(facts: Facts) -> list[str]:
    """Known pitfalls: how often each was found, next to StereoSet's rate."""
    if not facts.pitfalls:
        return ["The CATs were not checked for known pitfalls.", ""]
    rows = [
        (
            _code(row.code) + (" (accepted)" if row.accepted else ""),
            inline(row.says),
            counted(row),
            *_shares(row),
        )
        for row in facts.pitfalls
        if row.count
    ]
    lines = table(("pitfall", "meaning", ">found", ">share", ">StereoSet"), rows)
    if rows:
        lines += [
            "The last column is the share in StereoSet's development set, weighted by the kinds of "
            "CAT in this dataset. An association is one of the three of a CAT.",
            "",
        ]
    if any(row.accepted for row in facts.pitfalls):
        lines += [
            "An accepted pitfall would have stopped this release; the team decided to publish "
            "these CATs as they are.",
            "",
        ]
    absent = [row for row in facts.pitfalls if row.count == 0]
    if absent:
        lines += [f"Checked and not found: {_codes(absent)}.", ""]
    reasons: dict[str, list[PitfallCount]] = defaultdict(list)
    for row in facts.pitfalls:
        if row.count is None:
            reasons[row.why or "no reason is recorded"].append(row)
    lines += [f"- Not checked ({inline(why)}): {_codes(of)}." for why, of in reasons.items()]
    return lines + ([""] if reasons else [])


def counted(row: PitfallCount) -> str:
    """How often a pitfall was found, with what is counted; "yes" if it is about the dataset.

    >>> counted(PitfallCount(code="a", says="a", severity="note", count=2, of=79, stereoset=None,
    ...                      why=None, unit="target"))
    '2 of 79 terms'
    """
    if row.unit not in UNITS:
        return "yes"
    one, many = UNITS[row.unit]
    total = row.count if row.of is None else row.of
    noun = one if total == 1 else many
    return f"{row.count:,} {noun}" if row.of is None else f"{row.count:,} of {row.of:,} {noun}"


def _shares(row: PitfallCount) -> tuple[str, str]:
    """The share of a pitfall here and in StereoSet."""
    known = row.stereoset
    if row.unit not in UNITS:
        return "–", "–" if known is None else "yes" if known else "no"
    here = _rate(row.count / row.of) if row.of and row.count is not None else "–"
    return here, "–" if known is None else _rate(known)


def _rate(share: float) -> str:
    """A share from 0 to 1 in per cent; one that is not zero is never shown as zero."""
    return "< 0.1 %" if 0 < share < 0.0005 else _percent(100 * share)


def baselines(facts: Facts) -> list[str]:
    """What rules score that understand nothing, and where they are beyond chance."""
    if not facts.baselines:
        return ["No baselines were computed.", ""]
    lines = [
        "Baselines choose by the surface of the texts and understand nothing. A model that is not "
        "clearly better than they are may use the same traces.",
        "",
    ]
    for base in facts.baselines:
        says = f"{inline(base.model)}: {inline(base.says)}." if base.says else inline(base.model)
        if base.why:
            lines.append(f"- {says} Not computed: {inline(base.why)}.")
        elif base.beyond:
            places = "; ".join(map(inline, base.beyond))
            lines.append(f"- {says} **Warning: it is beyond chance here: {places}.**")
        elif base.says:
            lines.append(f"- {says}")
    rows = [(row, base.model) for base in facts.baselines for row in base.rows]
    named = {base.model for base in facts.baselines if base.rows}
    values = [
        *(line for name, line in _REFERENCES.items() if name in named),
        *([""] if named & _REFERENCES.keys() else []),
        *table(_SCORES, [_scores(row, name) for row, name in rows]),
        *_few(row for row, _ in rows),
    ]
    folded = ["<details>", "<summary>All values of the baselines</summary>", "", *values]
    return [*lines, "", *([*folded, "</details>", ""] if rows else [])]


def scores(facts: Facts) -> list[str]:
    """lms, ss and icat of models."""
    if not facts.scores:
        if facts.unscored:
            return _unscored(facts)
        hidden = facts.hidden and not facts.is_sealed
        return [HIDDEN_SCORES if hidden else "No model was scored for this release.", ""]
    flags = {(row.model, row.rules, flag): None for row in facts.scores for flag in row.flags}
    return [
        "lms is how often a model prefers a meaningful association to the unrelated one, ss how "
        "often it prefers the stereotype to the anti-stereotype. Both are means over target terms, "
        "in per cent. A good model has a high lms and an ss near 50. icat joins both, from 0 to "
        "100. In rows of the kind `both`, a term's CATs of both kinds are pooled.",
        *(["", _CHOICE] if any(_is_choice(row) for row in facts.scores) else []),
        "",
        *table(_SCORES, [_scores(row, row.model) for row in facts.scores]),
        *_few(facts.scores),
        *(
            f"- {inline(model)} ({inline(rules.replace('_', ', '))}): {inline(flag)}"
            for model, rules, flag in flags
        ),
        *([""] if flags else []),
        *_unscored(facts),
    ]


def _unscored(facts: Facts) -> list[str]:
    """The models that were asked and have no score."""
    if not facts.unscored:
        return []
    rows = [f"- {inline(text)}" for text in facts.unscored]
    return ["These chat models were asked, and have no score:", "", *rows, ""]


_CHOICE = (
    "Models under the rule `choice` are chat models. They were asked which of two associations is "
    "more natural or likelier, for each pair of a CAT and in both orders; an answer that changes "
    "with the order counts as half, unless the probabilities of both answers are known: then their "
    "mean over both orders decides. Such a stated choice is not a likelihood, so these rows cannot "
    "be compared with rows of other rules. Questions without an answer are left out."
)


def _is_choice(row: ScoreRow) -> bool:
    return row.rules.partition("+")[0] == "choice"


_REFERENCES = {
    "IdealLM": "- IdealLM never prefers the unrelated association, and prefers stereotypes as "
    "often as anti-stereotypes.",
    "StereotypedLM": "- StereotypedLM always prefers the stereotype. Its lms is not defined.",
    "RandomLM": "- RandomLM guesses.",
}
"""Baselines that are the ends and the middle of the scales, and what they do."""
_SCORES = ("model", "rules", "split", "kind", ">CATs", ">terms", ">lms", ">ss", ">icat")


def _scores(row: ScoreRow, name: str) -> tuple[str, ...]:
    return (
        *(inline(name), inline(row.rules.replace("_", ", ")) or "–"),
        *(inline(row.split), inline(row.kind)),
        *(f"{row.cats:,}", f"{row.terms:,}"),
        ranged(row.lms, row.lms_ci, few=row.few),
        ranged(row.ss, row.ss_ci, few=row.few),
        ranged(row.icat, row.icat_ci, few=row.few),
    )


def _few(rows: Iterable[ScoreRow]) -> list[str]:
    there = list(rows)
    notes = [INTERVALS] if any(row.lms_ci or row.ss_ci for row in there) else []
    notes += [FEW] if any(row.few for row in there) else []
    return [" ".join(notes), ""] if notes else []


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{number(share)} %"


def _codes(rows: Sequence[PitfallCount]) -> str:
    return ", ".join(_code(row.code) for row in rows)


def _code(code: str) -> str:
    return f"`{re.sub(r'[^a-z0-9_]', '', code)}`"


def changes(facts: Facts) -> list[str]:
    """What changed since the version before."""
    made = facts.changes
    if made is None:
        return ["This is the first version.", ""]
    counts = (
        (made.added, "was added", "were added"),
        (made.removed, "was removed", "were removed"),
        (made.changed, "has another text or field", "have other texts or fields"),
        (made.relabelled, "has another gold label", "have other gold labels"),
        (made.moved, "moved between dev and test", "moved between dev and test"),
        (made.renumbered, "has another id", "have other ids"),
    )
    parts = [
        f"- {amount(count, f'CAT {one}', f'CATs {many}')}." for count, one, many in counts if count
    ]
    if made.fields:
        fields = ", ".join(f"{_code(name)} {count:,}" for name, count in made.fields.items())
        parts.append(f"- CATs by the field that differs: {fields}.")
    if made.hidden:
        parts.append(
            f"- Gold labels and tiers of {amount(made.hidden, 'CAT')} are not compared, because "
            "they are hidden in one of the two versions."
        )
    if made.sealed:
        parts.append("- Test CATs are not compared, because their texts are not in both versions.")
    for terms, split in ((made.terms_to_dev, "dev"), (made.terms_to_test, "test")):
        if terms:
            named = ", ".join(map(inline, terms))
            parts.append(f"- {amount(len(terms), 'term')} moved to {split}: {named}.")
    since = f"Since version {inline(made.previous)}"
    if not parts:
        return [f"{since}, no CAT has changed.", ""]
    listed = "`errata.jsonl` names each CAT whose gold labels are public."
    return [f"{since}:", "", *parts, "", *([listed, ""] if made.listed else [])]


def near(facts: Facts) -> list[str]:
    """How many test CATs nearly repeat public ones."""
    if not facts.near:
        return []
    rows = [
        (inline(row.place), f"{row.cats:,}", f"{number(row.similarity, 2)}") for row in facts.near
    ]
    return [
        "How many test CATs nearly repeat CATs of dev or of another published version. Models may "
        "know them from there.",
        "",
        *table(("public CATs", ">test CATs", ">similarity from"), rows),
    ]
