"""What most reviewers of a term say."""

from typing import Any

from curation.records import Review, Term
from curation.rounds.reviews import Suggestion, Verdicts, majority

TERMS = {id: Term(id=id, text=id * 3, domain="profession") for id in "abcd"}


def review(n: int, term: str, action: Any, **more: Any) -> Review:
    return Review(id=f"{term}{n}", term=term, annotator=f"p{n}", action=action, round="r", **more)


def said(verdicts: Verdicts) -> list[tuple[str, str, str, int]]:
    return [(v.term.text, v.action, v.into, v.votes) for v in verdicts.verdicts]


def test_more_than_half_of_the_reviewers_decide() -> None:
    reviews = [
        *(review(n, "a", "drop") for n in range(2)),  # 2 of 3 drop
        review(2, "a", "keep"),
        *(review(n, "b", "keep") for n in range(3)),  # kept: no verdict
        review(0, "c", "drop"),  # 1 of 3: no majority, though nobody disagrees
        review(0, "gone", "drop"),  # not a term any more
    ]
    verdicts = majority(reviews, TERMS, reviewers=3, edits={})
    assert said(verdicts) == [("aaa", "drop", "", 2)]
    assert verdicts.undecided == ["ccc"]
    assert verdicts.overruled == []


def test_half_of_the_reviewers_are_no_majority() -> None:
    reviews = [review(0, "a", "drop"), review(1, "a", "keep")]
    assert majority(reviews, TERMS, reviewers=2, edits={}).undecided == ["aaa"]


def test_a_term_is_merged_into_one_that_stays() -> None:
    reviews = [
        *(review(n, "a", "merge", into="b") for n in range(2)),
        *(review(n, "c", "merge", into="d") for n in range(2)),
        *(review(n, "d", "drop") for n in range(2)),  # so c cannot be merged into d
    ]
    verdicts = majority(reviews, TERMS, reviewers=3, edits={})
    assert said(verdicts) == [("aaa", "merge", "bbb", 2), ("ddd", "drop", "", 2)]
    assert verdicts.undecided == ["ccc"]
    # An edit that drops b takes the merge into b back, too.
    edited = majority(reviews, TERMS, reviewers=3, edits={("profession", "bbb"): "drop"})
    assert edited.undecided == ["aaa", "ccc"]


def test_a_kept_term_is_renamed_as_most_say() -> None:
    reviews = [review(n, "a", "keep", name="smith" if n else None) for n in range(3)]
    verdicts = majority(reviews, TERMS, reviewers=3, edits={})
    assert said(verdicts) == [("aaa", "rename", "smith", 2)]  # all keep it, two propose the name
    same = [review(n, "a", "keep", name="aaa") for n in range(3)]
    assert said(majority(same, TERMS, reviewers=3, edits={})) == []


def test_edits_come_before_reviewers() -> None:
    reviews = [review(n, t, "drop") for t in ("a", "b") for n in range(3)]
    edits = {("profession", "aaa"): "keep", ("profession", "bbb"): "drop"}
    verdicts = majority(reviews, TERMS, reviewers=3, edits=edits)
    assert said(verdicts) == []
    assert verdicts.overruled == ["aaa (drop)"]  # b's edit says what the reviewers say


def test_reviewers_who_keep_a_term_agree_with_its_new_name() -> None:
    reviews = [review(n, id, "keep") for id in ("a", "b", "c") for n in range(3)]
    actions = {"aaa": "rename", "bbb": "add", "ccc": "drop"}
    edits: Any = {("profession", text): action for text, action in actions.items()}
    verdicts = majority(reviews, TERMS, reviewers=3, edits=edits)
    assert said(verdicts) == []
    assert verdicts.overruled == ["ccc (keep)"]


def test_what_no_majority_proposes_is_a_suggestion() -> None:
    reviews = [
        review(0, "a", "drop", note="an insult"),
        *(review(n, "a", "keep") for n in (1, 2)),
        review(0, "b", "keep", name="smith"),
        review(1, "b", "keep"),
        *(review(n, "c", "drop") for n in range(2)),  # a verdict
        review(2, "c", "merge", into="d"),
        review(0, "d", "keep"),  # not a change
    ]
    verdicts = majority(reviews, TERMS, reviewers=3, edits={})
    assert verdicts.suggestions == [
        Suggestion("aaa", "drop", "", 1, 3, ("an insult",)),
        Suggestion("bbb", "rename", "smith", 1, 2, ()),
        Suggestion("ccc", "merge", "ddd", 1, 3, ()),
    ]
