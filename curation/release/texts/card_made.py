"""How a release was made, for its card and its data statement: sizes, rounds, decisions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from curation.formats.markdown import inline, table
from curation.reasons import REASONS
from curation.release.facts import Facts, RoundFacts
from curation.release.texts.card_results import number
from curation.text.wording import amount

ANSWER = (
    "An answer is a review of a term, an item, or all labels of a person on one item. Answers on "
    "items that did not become CATs are among them."
)
_DID = {
    "review": "reviewed terms",
    "intrasentence": "wrote intrasentence items",
    "intersentence": "wrote intersentence items",
    "validation": "labelled items",
}


def sizes(facts: Facts) -> list[str]:
    """How many CATs and terms there are, by domain, kind and split; tiers and lengths."""
    rows = [
        (inline(s.domain), inline(s.kind), inline(s.split), f"{s.terms:,}", f"{s.cats:,}")
        for s in facts.sizes
        if s.cats
    ]
    lines = table(("domain", "kind", "split", ">terms", ">CATs"), rows)
    lines += table(
        ("domain", "split", ">terms over both kinds"),
        [(inline(c.domain), inline(c.split), f"{c.terms:,}") for c in facts.terms if c.terms],
    )
    lines += [
        "dev and test share no target term. There is no training set: a test does not measure a "
        "model that was trained on similar texts.",
        "",
    ]
    tiers = [
        amount(count, "CAT")
        + (f" of tier {inline(tier)}" if tier != "unknown" else " of unknown tier")
        for tier, count in facts.tiers.items()
        if count
    ]
    if tiers:
        of = inline(str(facts.decisions.get("of", "the asked number of")))
        unknown = (
            f" The tier is unknown if an association does not have exactly {of} counted labels."
            if facts.tiers.get("unknown")
            else ""
        )
        lines += [
            "The tier is the smallest number of votes of a CAT's three gold labels: "
            f"{', '.join(tiers)}.{unknown}"
            + (" CATs with hidden gold labels are not counted here." if facts.hidden else ""),
            "",
        ]
    lengths = [row for row in facts.lengths if (row.words, row.characters) != (None, None)]
    if lengths:
        heads = ("kind", ">mean words", ">mean characters")
        lines += [
            "Mean length of a context with one of its associations:",
            "",
            *table(
                heads,
                [(inline(r.kind), number(r.words), number(r.characters)) for r in lengths],
            ),
        ]
    return lines


def split_and_versions(facts: Facts) -> list[str]:
    """How terms were split, and with which programs the release was made."""
    made = ", ".join(f"{inline(name)} {inline(of)}" for name, of in facts.versions.items())
    kept = f" Terms of version {inline(facts.keep)} stayed in their split." if facts.keep else ""
    return [
        f"The split puts {100 * facts.dev:g} % of each domain's terms into dev, with seed "
        f"{facts.seed}.{kept}" + (f" This release was made with {made}." if made else ""),
        "",
    ]


def rounds(facts: Facts) -> list[str]:
    """People and answers by round, with dates, consent and pay."""
    lines = people_and_rounds(facts.people, facts.rounds)
    return lines if facts.rounds else [*lines, "No round of annotation is recorded.", ""]


def people_and_rounds(people: Mapping[str, int], rounds: Sequence[RoundFacts]) -> list[str]:
    """A list of how many people did what, and a table of rounds; nothing for what is empty."""
    lines = [
        f"- {amount(count, 'person', 'people')} {_DID.get(did, inline(did))}."
        for did, count in people.items()
        if count
    ]
    heads = ("round", "kind", "platform", ">people", ">answers", ">refused", "first", "last")
    return [
        *([*lines, ""] if lines else []),
        *table((*heads, "consent text", "pay for an answer"), map(_round, rounds)),
        *([ANSWER, ""] if any(made.answers for made in rounds) else []),
    ]


def left_out(facts: Facts) -> list[str]:
    """What became of answers, labels and items that are not in the release, in sentences."""
    lines = []
    if refused := sum(made.refused for made in facts.rounds):
        lines.append(
            f"{amount(refused, 'answer was', 'answers were')} refused, for example because a text "
            "was missing or a person had withdrawn."
        )
    for code, count in facts.not_counted.items():
        lines.append(f"{amount(count, 'label was', 'labels were')} not counted: {REASONS[code]}.")
    for code, count in facts.not_kept.items():
        what = amount(count, "item did not become a CAT", "items did not become CATs")
        lines.append(f"{what}: {REASONS[code]}.")
    return lines


def money(amount: float, currency: str) -> str:
    """An amount with at least two decimals.

    >>> money(0.5, "EUR"), money(0.355, "EUR")
    ('0.50 EUR', '0.355 EUR')
    """
    return f"{re.sub('0{1,2}$', '', f'{amount:,.4f}')} {inline(currency)}".strip()


def _round(made: RoundFacts) -> tuple[str, ...]:
    pay = "–" if made.pay is None else money(made.pay, made.currency)
    return (
        *(inline(made.name), inline(made.kind), inline(made.platform) or "–"),
        *(f"{made.people:,}", f"{made.answers:,}", f"{made.refused:,}"),
        *(inline(made.first or "–"), inline(made.last or "–"), inline(made.consent or "–"), pay),
    )


def decided(facts: Facts) -> list[str]:
    """How gold labels were decided; CATs that have no votes are named with their number."""
    hidden = facts.hidden.cats if facts.hidden else 0
    total = sum(size.cats for size in facts.sizes) - hidden
    count = facts.without_votes
    how = [how_decided(facts.decisions), ""]
    if not count:
        return how
    which = "All" if count == total else f"{count:,} of"
    open_only = " that are not hidden" if hidden else ""
    have = "has no votes" if count == 1 else "have no votes"
    agreement = (
        "so there is no agreement between annotators to report."
        if count == total
        else "and agreement between annotators is about the other CATs only."
    )
    trusted = (
        f"**{which} {amount(total, 'CAT')}{open_only} {have}.** Nobody labelled them for this "
        "release, and nobody's votes confirm their gold labels: these are the gold labels of the "
        "data that the "
        "CATs were published in before. They have no rows in `annotations.csv`, " + agreement
    )
    return [trusted, ""] if count == total else [*how, trusted, ""]


def translated(facts: Facts) -> list[str]:
    """What users must know of CATs that were translated from another dataset."""
    if not facts.translated:
        return []
    both = facts.originals_in_both
    shared = (
        f" {amount(both, 'original target is', 'original targets are')} in both splits, under "
        "different translations."
    )
    labels = " Labels that came with that dataset may be about the texts before translation."
    return [
        f"{amount(facts.translated, 'CAT was', 'CATs were')} translated from another dataset; "
        "`target_original` is the target there."
        + (shared if both else "")
        + (labels if facts.annotations else ""),
        "",
    ]


def how_decided(settings: Mapping[str, Any]) -> str:
    """A sentence that says how labels were counted.

    Args:
        settings: the settings in ``[decisions]``.
    """
    of = f"its first {settings['of']} labels by distinct annotators"
    if settings["count_repeats"]:
        of = f"its first {settings['of']} labels, repeated annotators included"
    sentences = [
        "The gold label of an association is the label with at least "
        f"{settings['needed']} votes among {of}."
    ]
    if settings["count_writer"]:
        sentences.append("The first of them is the writer's intent, which is not published.")
    condition = "its three gold labels are one of each"
    if settings["match_intent"]:
        condition += " and are what the writer meant"
    return " ".join([*sentences, f"An item is a CAT if {condition}."])


ARXIV = "https://arxiv.org/abs/2004.09456"
ACL = "https://aclanthology.org/2021.acl-long.416/"


class Limit(NamedTuple):
    """A limit in a few words and in full, with the paper's section that names it."""

    title: str
    text: str
    section: str
    url: str


LIMITS = (
    Limit(
        "A pool of annotators is not a population.",
        "The texts and labels come from the people who took part. They are not a "
        "sample of a country or of the speakers of a language, so the stereotypes of other people "
        "may differ or be missing.",
        *("Nadeem, Bethke and Reddy 2020, section 9", ARXIV),
    ),
    Limit(
        "Stereotypes collide with facts.",
        "A stereotype or an anti-stereotype can make a claim that is true or false. Such texts "
        "remain even if writers avoid them and validators mark them. The scores expect that a "
        "model prefers neither text, also if only one of them is true.",
        *("Nadeem, Bethke and Reddy 2020, section 9", ARXIV),
    ),
    Limit(
        "Favouring a stereotype can be right.",
        "Some texts that are labelled as stereotypes are the more likely or the more useful "
        "continuation. A model that prefers them loses points all the same.",
        *("Nadeem, Bethke and Reddy 2020, section 9", ARXIV),
    ),
    Limit(
        "An ideal score does not mean an unbiased model.",
        "Bias has many forms. These tests measure one of them, on these terms, in these texts. Do "
        "not present a good score as proof that a model is free of bias or safe to use.",
        *("Nadeem, Bethke and Reddy 2021, section 8", ACL),
    ),
    Limit(
        "icat is not the sole criterion.",
        "icat combines two measures into one value. Read lms and ss with it, with their intervals "
        "and beside the baselines, before you choose a model.",
        *("Nadeem, Bethke and Reddy 2021, section 7", ACL),
    ),
)


def limits() -> list[str]:
    """The limits as a list in Markdown, and an empty line."""
    return [
        *(f"- **{each.title}** {each.text} ([{each.section}]({each.url}))" for each in LIMITS),
        "",
    ]
