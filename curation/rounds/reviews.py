"""What most reviewers of a term say about it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.records import Review, Term

REMOVES = ("merge", "drop")  # actions after which a term is no longer itself
KEEPS = ("keep", "add", "rename")  # edits after which it still is


class Verdict(NamedTuple):
    """What to do with a term, as most of its reviewers say.

    Attributes:
        term: the term.
        action: merge, drop or rename.
        into: the text of the term to merge into, or the new name; empty for drop.
        votes: how many reviewers say so; for a rename, how many keep the term.
    """

    term: Term
    action: str
    into: str
    votes: int


class Verdicts(NamedTuple):
    """The result of a review. Terms to keep as they are have no verdict.

    Attributes:
        verdicts: one for each term to change.
        undecided: texts of terms without a majority, or to be merged into one that is removed.
        overruled: texts of terms with another action in the edits; the majority's action is in
            parentheses.
    """

    verdicts: list[Verdict]
    undecided: list[str]
    overruled: list[str]


def majority(
    reviews: Iterable[Review],
    terms: Mapping[str, Term],
    *,
    reviewers: int,
    edits: Mapping[tuple[str, str], str],
) -> Verdicts:
    """What more than half of a term's reviewers say, for each term that was reviewed.

    Args:
        reviews: the valid reviews of a round.
        terms: the campaign's terms by id; reviews of others are left out.
        reviewers: how many reviewers each term was to get; a majority is more than half of them.
        edits: by (domain, text), the action that the edits already have for a term. Such a term
            gets no verdict.
    """
    half = max(reviewers, 1) / 2
    by_term: dict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        by_term[review.term].append(review)
    leading = {
        id: Counter((review.action, review.into) for review in given).most_common(1)[0]
        for id, given in by_term.items()
    }
    removed = {
        id for id, ((action, _), votes) in leading.items() if action != "keep" and votes > half
    }
    removed |= {t.id for t in terms.values() if edits.get((t.domain, t.text)) in REMOVES}
    result = Verdicts([], [], [])
    for id, given in by_term.items():
        term = terms.get(id)
        if term is None:
            continue
        (action, into), votes = leading[id]
        if (edited := edits.get((term.domain, term.text))) is not None:
            agrees = action == edited or (action == "keep" and edited in KEEPS)
            if votes > half and not agrees:
                result.overruled.append(f"{term.text} ({action})")
            continue
        # A term cannot be merged into one that is itself merged or dropped.
        lost = action == "merge" and (into not in terms or into in removed)
        if votes <= half or lost:
            result.undecided.append(term.text)
        elif action == "merge" and into:
            result.verdicts.append(Verdict(term, action, terms[into].text, votes))
        elif action != "keep":
            result.verdicts.append(Verdict(term, action, "", votes))
        elif (name := _new_name(given, half)) and name != term.text:
            result.verdicts.append(Verdict(term, "rename", name, votes))
    return result


def _new_name(reviews: Iterable[Review], half: float) -> str | None:
    """The name that more than half of the reviewers give a term."""
    names = Counter(review.name for review in reviews if review.name)
    return next((name for name, votes in names.items() if votes > half), None)
