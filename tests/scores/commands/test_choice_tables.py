"""Chat models' answers in «curation scores compare»: tables, marks, and models without a score."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError, dump_json
from curation.models.chat_reading import Reading
from curation.records import PAIRS, Cat, Pair
from curation.scores.answer_report import Limits, choice_report
from curation.scores.asking import Asked
from curation.scores.commands.tables import show_answers, show_report
from curation.scores.comparing import read_answers
from support.answered import REFUSED, Answer, asked, first, made_up, none, prefers
from support.scored import CATS, refused, told

LIMITS = Limits(no_answer=0.05, one_letter=0.95)
A_ONLY: Answer = lambda *_: first()  # noqa: E731


def put_chat(root: Path, model: str, answer: Answer, **how: Any) -> Path:
    """A run of a chat model without comparisons."""
    folder = root / model / "choice"
    folder.mkdir(parents=True)
    report = choice_report(CATS, asked(CATS, answer, **how), limits=LIMITS)
    about = {"model": model, "family": "chat", "variant": ""}
    about["rules"] = dict.fromkeys(("intrasentence", "intersentence"), "choice")
    (folder / "run.json").write_text(json.dumps({**about, "answers": report["answers"]}), "utf-8")
    (folder / "comparisons.jsonl").touch()
    (folder / "choice.json").write_bytes(dump_json(report))
    return folder


def test_models_without_a_score_are_in_the_table_of_answers(scored: Path) -> None:
    root = scored / "5-scores"
    put_chat(root, "talker", A_ONLY)
    put_chat(root, "silent", lambda *_: REFUSED)
    did = told("compare", "-c", scored)
    for text in (
        "Answers of chat models", "talker/choice#", "silent/choice‖",
        "talker/choice has no score: it nearly always answers the same letter",
        "# nearly always answered the same letter",
    ):  # fmt: skip
        assert text in did.out
    silent, talker = did.json["answers"]
    assert (talker["run"], talker["no_score"], talker["flags"]) == (
        "talker/choice", "one_letter", ["one_letter"],
    )  # fmt: skip
    assert (talker["first"]["share"], talker["split"]["share"]) == (1.0, 1.0)
    assert silent["none"]["answer_refused"]["share"] == 1.0
    # A rule or a profile that they do not have leaves them out.
    out = told("compare", "-c", scored, "--profile", "default").out
    assert "Answers of chat models" not in out
    runs = [row["run"] for row in read_answers(root, only={"choice"})]
    assert runs == ["silent/choice", "talker/choice"]
    assert read_answers(root, only={"choice+lower"}) == []


def test_no_model_has_a_score(scored: Path) -> None:
    shutil.rmtree(scored / "5-scores")
    put_chat(scored / "5-scores", "talker", A_ONLY)
    did = told("compare", "-c", scored)
    assert "talker/choice#" in did.out
    assert "talker" in did.err
    assert (did.json["runs"], len(did.json["answers"])) == ([], 1)


@pytest.mark.parametrize("content", ["[]", "{}", '{"answers": 3}', "null", '"answers"'])
def test_a_damaged_report(scored: Path, content: str) -> None:
    folder = put_chat(scored / "5-scores", "talker", A_ONLY)
    (folder / "choice.json").write_text(content, "utf-8")
    error = refused("compare", "-c", scored)
    assert str(folder / "choice.json") in error.what
    assert "again" in error.fix


def test_a_report_with_values_of_another_form(tmp_path: Path) -> None:
    """Each value that tables show is either refused by the name of the file, or can be shown."""
    folder = put_chat(tmp_path, "talker", mixed(random.Random(2)), prompts="ab", samples=2)
    content = json.loads((folder / "choice.json").read_text("utf-8"))
    del content["by"]
    named = 0
    places = list(leaves(content))
    for place in places[:: len(places) // 70]:
        part = changed = json.loads(json.dumps(content))
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = "?" if not isinstance(part[place[-1]], str) else [1]
        (folder / "choice.json").write_text(json.dumps(changed), "utf-8")
        try:
            show_answers(read_answers(tmp_path))
        except CurationError as error:
            assert str(folder / "choice.json") in error.what  # noqa: PT017
            named += 1
    assert named > 10


def leaves(part: Any) -> Iterator[tuple[Any, ...]]:
    """The path of every value."""
    inside = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in inside:
        if isinstance(value, dict | list):
            yield from ((key, *path) for path in leaves(value))
        yield (key,)


def mixed(draw: random.Random) -> Answer:
    return lambda *_: REFUSED if draw.random() < 0.2 else first(draw.random() < 0.5)


def test_tables_of_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    cats = made_up(6, 8, domains=("race", "gender", "religion"))
    draw = random.Random(1)

    def says(cat: Cat, pair: Pair, swapped: bool) -> Reading:
        if cat.term == "race/t3":
            return REFUSED
        return none("answer_off_format") if draw.random() < 0.02 else first(draw.random() < 0.5)

    rows = asked(cats, says, prompts=("natural", "likely"), samples=2)
    show_report(choice_report(cats, rows, limits=LIMITS), run="m/choice", model="m")
    out = capsys.readouterr().out
    title, heads, _, row, *_ = out.strip().splitlines()
    assert title.startswith("Answers of chat models")
    assert "refused % off format % no answer %" in " ".join(heads.split())
    assert "cut %" not in heads
    assert row.startswith("m/choice‖※ 2 × 2")
    differ = next(line for line in out.splitlines() if "race/t3" in line)
    assert differ.split()[2:5] == ["refused", "1", "8"]
    assert "<0.001 differs" in differ
    for table in ("prompts", "samples"):
        assert f"Spread over {table}" in out
    assert "m/choice, intrasentence, by prompt" in out
    assert out.count("※ refused, or gave no answer, for some groups") == 1


def test_second_questions_have_a_table_and_a_mark(capsys: pytest.CaptureFixture[str]) -> None:
    """One of five terms was asked twice, and only there it prefers the anti-stereotype."""
    cats = made_up(10, 4)

    def row(each: Asked) -> Asked:
        if each.cat.split("-")[1] not in ("0", "1"):
            return each
        anti = each.pair == PAIRS[2]
        return each._replace(reading=first(each.swapped == anti), second=True)

    rows = [row(each) for each in asked(cats, prefers(association=True))]
    show_report(choice_report(cats, rows, limits=LIMITS), run="m/choice", model="m")
    lines = capsys.readouterr().out.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("Second questions"))
    heads, shown = (" ".join(lines[at + n].split()) for n in (1, 3))
    assert heads == "model asked again % 95 % named % lms without ss without icat without"
    name, share, _, *values = shown.split()
    assert (name, share) == ("m/choice⊕", "20.00")
    assert values == ["100.00", "100.00", "100.00", "80.00", "100.00", "40.00", "0.00"]
    assert any(line.startswith("⊕ lms, ss or icat changes") for line in lines)
    show_report(choice_report(cats, asked(cats, prefers(association=True)), limits=LIMITS),
                run="m/choice", model="m")  # fmt: skip
    assert "Second questions" not in capsys.readouterr().out
