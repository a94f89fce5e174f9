"""The file of replies: nothing that came is lost, and the last reply to a question counts."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.models.chat import read_prompts
from curation.records import Reply
from curation.scores import asking as chat
from curation.scores.asking import ChatQuestion, appending, chat_questions, read_replies
from curation.work.run_folder import cut_half_line
from support.chat_answers import SORRY
from support.expected import fails
from support.full_disk import Full
from support.talkers import ENGLISH, made_up, reply

PROMPTS = read_prompts(ENGLISH)
QUESTIONS = [question for cat in made_up(2) for question in chat_questions(cat, PROMPTS)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def add(
    path: Path, *texts: str, questions: list[ChatQuestion] = QUESTIONS, limit: int | None = 64
) -> None:
    """Append a reply to each of the first questions."""
    with appending(path, max_tokens=limit) as log:
        for question, text in zip(questions, texts, strict=False):
            log.add(question, 200, reply(text, finish="length" if text == "" else "stop"))


def letters(path: Path, questions: list[ChatQuestion] = QUESTIONS) -> list[str]:
    answered = read_replies(path, questions, PROMPTS).answered
    return [answered[q.place].reading.letter if q.place in answered else "-" for q in questions]


def test_a_reply_is_kept_as_it_came_and_at_once(path: Path) -> None:
    body = {"choices": [], "odd": {"ünï": [1, 2.5, None, "🎻"]}, "id": "x"}
    with appending(path, max_tokens=64) as log:
        for number in range(1, 4):
            log.add(QUESTIONS[number], 200, body)
            assert path.read_bytes().count(b"\n") == number
    line, *_ = read_records(path, Reply)
    assert (line.body, line.status, line.max_tokens) == (body, 200, 64)
    assert (line.cat, line.pair, line.swapped) == QUESTIONS[1].place[:3]
    assert (line.prompt, line.sample, line.asked) == ("natural", 0, QUESTIONS[1].digest)


def test_the_last_reply_counts_and_a_half_line_is_asked_for_again(path: Path) -> None:
    add(path, "A", "A")
    add(path, "B")
    assert letters(path)[:3] == ["second", "first", "-"]
    path.write_bytes(path.read_bytes()[:-20])
    cut_half_line(path)
    assert letters(path)[:3] == ["first", "first", "-"]


def test_replies_to_other_texts_stay_and_are_ignored(path: Path) -> None:
    changed = [QUESTIONS[0]._replace(turns=("?",), digest="0" * 16), *QUESTIONS[1:]]
    add(path, "A", "B")
    assert letters(path, changed)[:2] == ["-", "second"]
    add(path, "B", questions=changed)
    assert letters(path, changed)[:2] == ["second", "second"]
    assert letters(path)[:2] == ["first", "second"]  # the text is the old one again


def test_a_reply_that_was_cut_at_fewer_tokens_is_open_again(path: Path) -> None:
    add(path, "A", "", "")

    def left(limit: int | None) -> int:
        known = read_replies(path, QUESTIONS, PROMPTS)
        return len(QUESTIONS) - len(chat.open_questions(QUESTIONS, known, max_tokens=limit))

    assert [left(limit) for limit in (32, 64, 65)] == [3, 3, 1]
    add(path, "", questions=QUESTIONS[2:], limit=100)
    assert [left(limit) for limit in (64, 65, 100, 101)] == [3, 2, 2, 1]
    assert left(None) == 3


def seconds(path: Path) -> list[ChatQuestion]:
    """The second questions that are still to be asked."""
    known = read_replies(path, QUESTIONS, PROMPTS)
    left = chat.open_questions(QUESTIONS, known, max_tokens=64)
    return [question for question in left if len(question.turns) > 1]


def test_a_reply_without_a_letter_needs_a_second_one(path: Path) -> None:
    add(path, "A is odd. B is common.", "B", SORRY)
    (second,) = seconds(path)
    assert second.turns == (QUESTIONS[0].text, "A is odd. B is common.", PROMPTS.again)
    assert letters(path)[:3] == ["-", "second", ""]
    add(path, "B", questions=[second])
    assert (letters(path)[0], seconds(path)) == ("second", [])
    first, _, _, last = read_records(path, Reply)
    assert (first.second, last.second, last.cat) == (False, True, first.cat)
    known = read_replies(path, QUESTIONS, PROMPTS)
    assert [each.second for each in known.answered.values()] == [True, False, False]
    # A first reply that counts now makes the second one useless.
    add(path, "A")
    assert letters(path)[0] == "first"
    add(path, "A is odd. B is common.")
    assert letters(path)[0] == "second"
    add(path, "A is odd. B is usual.")
    assert (letters(path)[0], len(seconds(path))) == ("-", 1)


def test_a_second_reply_is_final(path: Path) -> None:
    add(path, "Both are.", "Both are.")
    add(path, "Both are, really.", "", questions=seconds(path))
    known = read_replies(path, QUESTIONS, PROMPTS)
    codes = [each.reading.code for each in known.answered.values()]
    assert codes == ["answer_off_format", "answer_cut"]
    assert seconds(path) == []
    (left,) = [q for q in chat.open_questions(QUESTIONS, known, max_tokens=65) if len(q.turns) > 1]
    assert left.place == QUESTIONS[1].place  # it was cut


def test_another_second_question_is_asked(path: Path) -> None:
    add(path, "Both are.")
    add(path, "B", questions=seconds(path))
    other = replace(PROMPTS, again="Only A or B, please.")
    assert QUESTIONS[0].place not in read_replies(path, QUESTIONS, other).answered


def test_replies_of_other_prompts_and_samples_are_named(path: Path) -> None:
    more = [q for cat in made_up(2) for q in chat_questions(cat, PROMPTS, samples=2)]
    add(path, *"A" * 12, questions=more)
    known = read_replies(path, QUESTIONS, PROMPTS)
    assert (len(known.answered), known.others) == (6, {("natural", 1)})
    assert read_replies(path, more, PROMPTS).others == set()


def test_tokens_are_added_up(path: Path) -> None:
    add(path, "A", "A")
    with appending(path, max_tokens=64) as log:
        wrong = ({"prompt_tokens": n, "completion_tokens": 1} for n in ("9", -1, True, 1 << 70))
        for usage in (None, [], {}, *wrong):
            log.add(QUESTIONS[0], 200, {"usage": usage})
    tokens = read_replies(path, QUESTIONS, PROMPTS).tokens
    assert tokens == {"prompt": 80, "completion": 4, "replies": 2}


@pytest.mark.parametrize(
    ("value", "depth"), [("half \ud83d", 1), (1 << 80, 1), (float("inf"), 1), ({}, 195),
                         ({}, 230), ({}, 400)],
)  # fmt: skip
def test_whatever_comes_can_be_read_again(path: Path, value: Any, depth: int) -> None:
    body = functools.reduce(lambda inner, _: {"a": inner}, range(depth), value)
    with appending(path, max_tokens=64) as log:
        log.add(QUESTIONS[0], 200, body)
        log.add(QUESTIONS[1], 200, reply("A"))
    assert len(read_records(path, Reply)) == 2
    assert letters(path)[:2] == ["", "first"]


def test_a_damaged_line_is_named(path: Path) -> None:
    add(path, "A", "A")
    first, second = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text(first + second.replace('"status":200', '"status":"200"'), "utf-8")
    with fails("line 2, field 'status'"):
        letters(path)


def test_on_a_full_disk_no_half_line_stays(path: Path) -> None:
    with appending(path, max_tokens=64) as log:
        log.add(QUESTIONS[0], 200, reply("A"))
        log._file = Full(log._file, 30)
        with pytest.raises(OSError, match="No space left") as caught:
            log.add(QUESTIONS[1], 200, reply("A"))
    assert caught.value.filename == str(path)
    assert letters(path)[:2] == ["first", "-"]


def test_replies_are_never_written_through_a_link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))
    with fails("is a link"), appending(path, max_tokens=64):
        pass
