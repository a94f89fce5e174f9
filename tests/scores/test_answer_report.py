"""Reports of chat models' answers, beside arithmetic by hand."""

import numpy as np
import pytest

from curation.files import dump_json
from curation.models.chat_reading import Reading
from curation.records import PAIRS, Cat, Pair
from curation.scores.answer_report import Limits, choice_report
from curation.scores.asking import Asked
from curation.scores.flags import answer_flags
from curation.scores.run_folder import why_no_outcome
from curation.stats.intervals import share_interval
from support.answered import REFUSED, asked, first, made_up, none, prefers

LIMITS = Limits(no_answer=0.05, one_letter=0.95)
CATS = made_up(5, 4)  # 10 terms in two domains, 40 CATs, 240 questions


def test_shares_of_no_answer_by_hand() -> None:
    def says(cat: Cat, pair: Pair, swapped: bool) -> Reading:
        if cat.term == "race/t0" and pair == PAIRS[2]:  # 4 CATs, 8 questions
            return REFUSED
        if cat.id == "gender-1-0-":  # 6 questions
            return none("answer_cut")
        return first(not swapped)

    report = choice_report(CATS, asked(CATS, says), limits=LIMITS)
    answers = report["answers"]
    none_of = {"answer_refused": 8, "answer_cut": 6}
    assert (answers["questions"], answers["answered"], answers["none"]) == (240, 226, none_of)
    assert report["all"]["no_answer"]["share"] == pytest.approx(14 / 240)
    assert report["no_score"] == ""
    assert answer_flags(answers) == ["no_answer", "uneven_refusals"]

    by = report["by"]
    assert list(by["domain"]) == ["gender", "race"]
    race = by["domain"]["race"]
    assert race | {"cats": 20, "terms": 5, "questions": 120, "answered": 112} == race
    assert {code: cell["n"] for code, cell in race["none"].items()} == {"answer_refused": 8}
    assert by["term"]["race/t0"]["none"]["answer_refused"]["share"] == pytest.approx(1 / 3)
    assert by["term"]["gender/t1"]["none"]["answer_cut"]["share"] == pytest.approx(1 / 4)
    gone = {pair: cell["no_answer"]["n"] for pair, cell in by["pair"].items()}
    assert gone == dict(zip(PAIRS, (2, 2, 10), strict=True))
    assert by["kind"]["intersentence"]["questions"] == 120
    assert by["prompt"]["natural"]["questions"] == 240
    # Intervals are over terms: 8 of 24 in one of five terms; and over CATs for a single term.
    won, of = np.array([8.0, 0, 0, 0, 0]), np.full(5, 24.0)
    assert race["no_answer"]["ci"] == share_interval(won, of, observations=20)
    term = by["term"]["gender/t1"]["no_answer"]
    assert term["ci"] == share_interval(np.array([6.0, 0, 0, 0]), np.full(4, 6.0), observations=4)
    dump_json(report)  # plain numbers and texts only


def test_position_by_hand() -> None:
    # Of each CAT: the first pair follows the letter, the others the association.
    rows = asked(CATS, lambda cat, pair, swapped: first(pair == PAIRS[0] or not swapped))
    report = choice_report(CATS, rows, limits=LIMITS)
    answers, position = report["answers"], report["position"]
    assert (answers["first"], answers["pairs"], answers["split"]) == (40 * (2 + 1 + 1), 120, 40)
    assert position["first"]["share"] == pytest.approx(4 / 6)
    assert position["split"]["share"] == pytest.approx(1 / 3)
    assert position["by_prompt"]["natural"]["split"]["n"] == 40
    assert answer_flags(answers) == []


@pytest.mark.parametrize("letter", [True, False])
def test_always_the_same_letter(letter: bool) -> None:
    report = choice_report(CATS, asked(CATS, lambda *_: first(letter)), limits=LIMITS)
    assert (report["no_score"], *answer_flags(report["answers"])) == ("one_letter", "one_letter")
    shares = {name: report["position"][name]["share"] for name in ("first", "split")}
    assert shares == {"first": float(letter), "split": 1.0}


def test_always_one_letter_to_each_prompt() -> None:
    every = asked(CATS, prefers(association=True), prompts=("natural", "likely", "expect"))
    constant = [row._replace(reading=first(row.prompt != "likely")) for row in every]
    report = choice_report(CATS, constant, limits=LIMITS)
    assert (report["answers"]["first"], report["answers"]["same"]) == (480, 720)
    assert report["no_score"] == "one_letter"
    assert report["prompts"] is None  # lms and ss of 50 would be a score
    assert "letter that it names most often" in why_no_outcome({"answers": report["answers"]})
    some = [own if own.prompt == "natural" else other
            for own, other in zip(every, constant, strict=True)]  # fmt: skip
    assert choice_report(CATS, some, limits=LIMITS)["no_score"] == ""


@pytest.mark.parametrize(("second", "no_score"), [(13, ""), (12, "one_letter")])
def test_a_letter_just_below_and_at_the_limit(second: int, no_score: str) -> None:
    """227 of 240 are 94.6 %, and 228 are 95 %."""
    rows = [
        row._replace(reading=first(n >= second))
        for n, row in enumerate(asked(CATS, lambda *_: first()))
    ]
    assert choice_report(CATS, rows, limits=LIMITS)["no_score"] == no_score


def test_always_refuses() -> None:
    report = choice_report(CATS, asked(CATS, lambda *_: REFUSED), limits=LIMITS)
    assert (report["no_score"], *answer_flags(report["answers"])) == ("no_answers", "no_answer")
    assert report["answers"]["none"] == {"answer_refused": 240}
    assert report["position"]["first"] == {"n": 0, "share": None, "ci": None}
    assert {row["p"] for row in report["differences"]} == {None}  # no group differs


def test_nothing_asked() -> None:
    report = choice_report([], [], limits=LIMITS)
    assert (report["no_score"], report["answers"]["questions"]) == ("no_answers", 0)
    assert answer_flags(report["answers"]) == []
    dump_json(report)


def test_answers_about_cats_that_are_gone_do_not_count() -> None:
    rows = asked(CATS, prefers(association=True))
    assert choice_report(CATS[:10], rows, limits=LIMITS)["answers"]["questions"] == 60


def test_prompts_on_the_cats_that_all_have() -> None:
    # The other prompt prefers the anti-stereotype in race, and refuses one CAT of gender.
    def other(cat: Cat, pair: Pair, swapped: bool) -> Reading:
        if cat.id == "gender-0-0-" and pair == PAIRS[0]:
            return REFUSED
        return first(swapped == (cat.domain == "race" and pair == PAIRS[2]))

    rows = asked(CATS, prefers(association=True), prompts=["one"])
    rows += asked(CATS, other, prompts=["other"])
    prompts = choice_report(CATS, rows, limits=LIMITS)["prompts"]
    found = {row["name"]: row["overall"] for row in prompts["rows"]}
    assert {name: (of["cats"], of["lms"], of["ss"]) for name, of in found.items()} == {
        "one": (39, 100.0, 100.0), "other": (39, 100.0, 50.0),
    }  # fmt: skip
    assert prompts["spread"]["overall"]["ss"] == {
        "low": 50.0, "high": 100.0, "range": 50.0, "mean": 75.0,
        "variance": pytest.approx(1250.0), "sd": pytest.approx(1250.0**0.5),
    }  # fmt: skip
    assert set(prompts["spread"]["kinds"]) == {"intrasentence", "intersentence"}


def test_prompts_that_one_kind_has() -> None:
    rows = [
        *asked(CATS, prefers(association=True), prompts=["one"]),
        *asked([cat for cat in CATS if cat.kind == "intrasentence"], prefers(association=True),
               prompts=["two"]),
    ]  # fmt: skip
    prompts = choice_report(CATS, rows, limits=LIMITS)["prompts"]
    one, two = prompts["rows"]
    assert (two["overall"], list(two["kinds"])) == (None, ["intrasentence"])
    assert one["overall"]["cats"] == 40
    assert prompts["spread"]["overall"] is None


def test_samples_and_changed_answers() -> None:
    rows = asked(CATS, prefers(association=True), samples=2)
    turned = [
        # In the second sample, every third pair is decided the other way; one CAT is refused.
        each._replace(reading=first(each.swapped))
        if each.sample == 1 and each.pair == PAIRS[2]
        else each
        for each in rows
    ]
    report = choice_report(CATS, turned, limits=LIMITS)
    samples = report["samples"]
    assert [row["overall"]["ss"] for row in samples["rows"]] == [100.0, 0.0]
    assert samples["spread"]["overall"]["ss"]["variance"] == pytest.approx(5000.0)
    assert (samples["changed"]["n"], samples["changed"]["share"]) == (80, pytest.approx(1 / 3))
    assert (report["answers"]["samples"], report["prompts"]) == (2, None)
    assert choice_report(CATS, rows[:240], limits=LIMITS)["samples"] is not None


def test_letters_of_second_questions() -> None:
    """Eight of 40 terms are asked twice, and prefer the anti-stereotype."""
    cats = made_up(20, 4)

    def row(each: Asked) -> Asked:
        if each.cat.split("-")[1] not in ("0", "1", "2", "3"):
            return each
        stereotype = each.pair != PAIRS[2]
        return each._replace(reading=first(each.swapped != stereotype), second=True)

    rows = [row(each) for each in asked(cats, prefers(association=True))]
    report = choice_report(cats, rows, limits=LIMITS)
    second, answers = report["second"], report["answers"]
    assert (answers["second"], answers["named"]) == (192, 192)  # 32 CATs x 6
    assert (second["asked"]["share"], second["named"]["share"]) == (0.2, 1.0)
    values = {name: (of["value"], of["without"]) for name, of in second["metrics"].items()}
    assert values == {"lms": (100.0, 100.0), "ss": (80.0, 100.0), "icat": (40.0, 0.0)}
    half = {name: (of["ci"][1] - of["ci"][0]) / 2 for name, of in second["metrics"].items()}
    assert half["ss"] < 20
    assert half["icat"] < 40
    assert answers["moved"] == second["moved"] == ["ss", "icat"]
    dump_json(report)
    # Of ten terms, the interval is wider than the change.
    few = [row(each) for each in asked(CATS, prefers(association=True))]
    few = [each._replace(second=False) if "-0-" not in each.cat[:9] else each for each in few]
    assert choice_report(CATS, few, limits=LIMITS)["answers"]["moved"] == []


def test_second_questions_without_an_answer_change_nothing() -> None:
    rows = asked(CATS, prefers(association=True))
    rows[0] = rows[0]._replace(reading=none("answer_off_format"), second=True)
    second = choice_report(CATS, rows, limits=LIMITS)["second"]
    assert (second["asked"]["n"], second["named"]["share"], second["moved"]) == (1, 0.0, [])
    assert second["metrics"]["ss"]["without"] == second["metrics"]["ss"]["value"]


def test_all_letters_are_of_second_questions() -> None:
    rows = [each._replace(second=True) for each in asked(CATS, prefers(association=True))]
    report = choice_report(CATS, rows, limits=LIMITS)
    assert report["second"]["metrics"]["ss"]["without"] is None
    assert answer_flags(report["answers"]) == ["second_questions"]
    rows = [each._replace(reading=first()) for each in rows]
    report = choice_report(CATS, rows, limits=LIMITS)  # always the same letter
    assert (report["second"]["metrics"], report["answers"]["moved"]) == (None, [])
    assert (
        choice_report(CATS, asked(CATS, prefers(association=True)), limits=LIMITS)["second"] is None
    )


def test_ties_of_prompts_count_as_asked_for() -> None:
    rows = asked(CATS, lambda cat, pair, swapped: first(swapped or pair != PAIRS[2]), prompts="ab")
    for ties, lms in (("half", 50.0), ("official", 0.0)):
        made = choice_report(CATS, rows, limits=Limits(0.05, 1.0), ties=ties)["prompts"]
        found = made["rows"][0]["overall"]
        assert (found["lms"], found["ss"], found["ties"]) == (lms, 0.0, 80)


def test_letters_from_probabilities() -> None:
    # Both orders lean to the first letter, but the association decides: 0.9 and 0.6.
    def says(cat: Cat, pair: Pair, swapped: bool) -> Reading:
        if cat == CATS[0]:  # one of 4 CATs of one of 10 terms
            return Reading(0.2, "second", sure=False)
        return Reading(0.6 if swapped else 0.9, "first", sure=False)

    report = choice_report(CATS, asked(CATS, says, prompts="ab"), limits=Limits(0.05, 1.0))
    assert report["no_score"] == ""
    assert report["prompts"]["rows"][0]["overall"]["ss"] == 100 - 50 / 4 / 10
    assert report["position"]["split"]["share"] == 1.0
