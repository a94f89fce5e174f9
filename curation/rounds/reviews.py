"""What most reviewers of a term say about it, and what that adds to ``edits.csv``."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from curation.campaign.dataset import of_round
from curation.campaign.store import Campaign
from curation.files import read_bytes, read_text, writing
from curation.formats.tables import csv_text, find_header, read_csv
from curation.records import Review, Round, Term
from curation.terms.lists import EDIT_ALIASES, EDIT_COLUMNS
from curation.terms.steps import EDITS
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

REMOVES = ("merge", "drop")  # actions after which a term is no longer itself
KEEPS = ("keep", "add", "rename")  # edits after which it still is


class Verdict(NamedTuple):
    """What to do with a term, as most of its reviewers say.

    Attributes:
        term: the term.
        action: merge, drop or rename.
        into: the text of the term to merge into, or the new name; empty for drop.
        votes: how many reviewers propose it.
        of: how many reviewers answered on the term.
    """

    term: Term
    action: str
    into: str
    votes: int
    of: int


class Suggestion(NamedTuple):
    """A change that reviewers propose, but not most of them.

    Attributes:
        term: the text of the term.
        action: merge, drop or rename.
        into: the text of the term to merge into, or the new name; empty if it is not known.
        votes: how many reviewers propose it.
        of: how many reviewers answered on the term.
        notes: their reasons and remarks.
    """

    term: str
    action: str
    into: str
    votes: int
    of: int
    notes: tuple[str, ...]


class Verdicts(NamedTuple):
    """The result of a review. Terms to keep as they are have no verdict.

    Attributes:
        verdicts: one for each term to change.
        undecided: texts of terms without a majority, or to be merged into one that is removed.
        overruled: texts of terms with another action in the edits; the majority's action is in
            parentheses.
        suggestions: proposals that are not in ``verdicts``, by term.
    """

    verdicts: list[Verdict]
    undecided: list[str]
    overruled: list[str]
    suggestions: list[Suggestion]


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
    result = Verdicts([], [], [], [])
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
            result.verdicts.append(Verdict(term, action, terms[into].text, votes, len(given)))
        elif action != "keep":
            result.verdicts.append(Verdict(term, action, "", votes, len(given)))
        elif (new := _new_name(given, half)) and new[0] != term.text:
            result.verdicts.append(Verdict(term, "rename", *new, len(given)))
    decided = {(verdict.term.id, verdict.action, verdict.into) for verdict in result.verdicts}
    for id, given in by_term.items():
        if id in terms:
            suggested = _suggestions(terms[id], given, terms)
            result.suggestions.extend(
                each for each in suggested if (id, each.action, each.into) not in decided
            )
    return result


def _new_name(reviews: Iterable[Review], half: float) -> tuple[str, int] | None:
    """The name that more than half of the reviewers give a term, and how many do."""
    names = Counter(review.name for review in reviews if review.name)
    return next(((name, votes) for name, votes in names.items() if votes > half), None)


def _suggestions(
    term: Term, reviews: Sequence[Review], terms: Mapping[str, Term]
) -> list[Suggestion]:
    """All changes of a term that its reviewers propose, the most frequent first."""
    proposals: dict[tuple[str, str], list[str]] = defaultdict(list)
    for review in reviews:
        if review.action != "keep":
            goal = terms.get(review.into or "")
            proposals[review.action, goal.text if goal else ""].append(review.note)
        if review.name and review.name != term.text:
            proposals["rename", review.name].append(review.note)
    return [
        Suggestion(term.text, action, into, len(notes), len(reviews), tuple(filter(None, notes)))
        for (action, into), notes in sorted(proposals.items(), key=lambda each: -len(each[1]))
    ]


REVIEWS = of_round("reviews.jsonl", Review)


def apply_reviews(
    campaign: Campaign, round: Round, *, reporter: Reporter = QUIET
) -> list[dict[str, str]]:
    """Add what most reviewers of a term say to ``edits.csv``; existing lines stay as they are.

    Returns:
        The lines added. A term without a majority gets none. Warnings name such terms, and every
        proposal that is not applied.
    """
    reviews = campaign[REVIEWS][round.name]
    edits = [edit for edit in campaign[EDITS] if edit.action]
    actions = {(edit.domain, edit.term): edit.action for edit in edits}
    # A renamed term is met under its new name.
    actions |= {(edit.domain, edit.into): edit.action for edit in edits if edit.action == "rename"}
    verdicts, undecided, overruled, suggestions = majority(
        reviews, campaign.terms, reviewers=round.answers, edits=actions
    )
    added = [
        dict.fromkeys(EDIT_COLUMNS, "")
        | {"domain": term.domain, "term": term.text, "action": action, "into": into}
        | {"note": f"{round.name}: proposed by {votes} of {amount(of, 'reviewer')}"}
        for term, action, into, votes, of in verdicts
    ]
    if overruled:
        reporter.warn(
            f"edits.csv has another action, which stays, for: {', '.join(sorted(overruled))}"
        )
    if undecided:
        reporter.warn(
            f"reviewers are divided on {', '.join(sorted(undecided))}; decide in edits.csv"
        )
    if suggestions:
        lines = [
            f"  {each.term}: {' '.join(filter(None, (each.action, each.into)))} "
            f"({each.votes} of {amount(each.of, 'reviewer')})"
            + (f": {'; '.join(each.notes)}" if each.notes else "")
            for each in sorted(suggestions)
        ]
        reporter.warn("\n".join(["proposals of reviewers that are not applied:", *lines]))
    if added:
        _append(campaign, EDIT_COLUMNS, added)
    return added


def _append(campaign: Campaign, columns: tuple[str, ...], lines: list[dict[str, str]]) -> None:
    """Add lines to ``edits.csv`` with the columns and the delimiter that the file has."""
    path = campaign.folder("terms") / "edits.csv"
    text = read_text(path) if path.exists() and read_bytes(path).strip() else ",".join(columns)
    header = find_header(text, path)
    names, _ = read_csv(text, path)
    called = {EDIT_ALIASES.get(name.casefold(), name.casefold()): name for name in names}
    called = {column: called.get(column, column) for column in columns}
    names += [name for name in called.values() if name not in names]
    given = ({called[column]: value for column, value in line.items()} for line in lines)
    cells = ([row.get(name, "") for name in names] for row in given)
    above, (_, _, below) = text[: header.start], text[header.start :].partition("\n")
    body = f"{above}{header.delimiter.join(names)}\n{below}".rstrip("\r\n")
    with writing(path) as file:
        file.write(f"{body}\n{csv_text(cells, delimiter=header.delimiter)}".encode())
