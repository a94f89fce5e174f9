"""Local chat models: the letters' log-probabilities, and what a model must have."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curation.kinds import CAT_KINDS, Kind
from curation.models import chat_local
from curation.models.chat import ChatSpec, Prompts, read_prompts
from curation.models.chat_local import LocalChat, letter_tokens, token_texts
from curation.models.chat_reading import read_letters
from curation.models.loading import open_tokenizer
from curation.models.scoring import ModelSpec, identify, load_model, open_chat
from support import chat_models
from support.chat_models import ENGLISH, TEMPLATES, with_template
from support.choice_reference import letters
from support.expected import Patch, fails
from support.models import WINDOW, Made

PROMPTS = Prompts(("A", "B"), "A or B?", (), (), {}, "prompts.toml")
INCLUDED = read_prompts(ENGLISH)
TEXTS = [
    "A: The baker is kind.\nB: The baker is a cloud.",
    "A: The baker is a cloud.\nB: The baker is kind.\nA or B?",
    "Çalışkan 🥐? A, B",
    "B?",
]
Body = dict[str, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A tiny model with a chat template."""
    root = tmp_path_factory.mktemp("chat")
    return cache(lambda name: with_template(root / name, name))


def spec(folder: Path, **how: Any) -> ModelSpec:
    return ModelSpec(str(folder), chat=ChatSpec(ENGLISH), **how)


def opened(
    folder: Path, prompts: Prompts = PROMPTS, notice: Callable[[str], object] = print, **how: Any
) -> LocalChat:
    wanted = spec(folder, **how)
    told = {"batch_tokens": wanted.batch_tokens, "plain": wanted.plain, "notice": notice}
    return LocalChat(load_model(wanted), prompts, **told)


def bodies(chat: LocalChat, texts: list[str] = TEXTS) -> list[Body]:
    replies: dict[int, Body] = {}

    def answered(n: int, status: int, body: Body) -> None:
        assert status == 0
        assert n not in replies
        json.dumps(body, allow_nan=False)
        replies[n] = body

    chat.ask([(text,) for text in texts], answered)
    return [replies[n] for n in range(len(texts))]


@pytest.mark.parametrize("name", TEMPLATES)
def test_letters_equal_a_slow_reference(model: Made, name: str) -> None:
    slow = {text: letters(model(name), text) for text in TEXTS}
    for plain, tokens in ((False, None), (False, 1), (True, None), (True, 1)):
        chat = opened(model(name), plain=plain, batch_tokens=tokens)
        texts = TEXTS if tokens is None else TEXTS[::-1]
        for text, body in zip(texts, bodies(chat, texts), strict=True):
            wanted = slow[text]
            found = (*body["letters"], body["top_log"])
            assert found == pytest.approx((wanted.first, wanted.second, wanted.top_log), abs=1e-5)
            assert body["top"] == wanted.top


def test_replies_come_part_by_part(model: Made, monkeypatch: Patch) -> None:
    monkeypatch.setattr(chat_local, "PART", 2)
    order: list[int] = []
    chat = opened(model("gpt2"))

    def answered(n: int, _status: int, _body: Body) -> None:
        order.append(n)
        if n == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chat.ask([(text,) for text in TEXTS], answered)
    assert order == [0, 1]
    assert chat.ask([], answered) is None


def test_a_prompt_is_as_its_template_says(model: Made, tmp_path: Path) -> None:
    # Llama's tokenizer adds one more by itself.
    assert opened(model("llama"))._render(("A?",)).startswith("<s>[INST]")
    tokenizer = open_tokenizer(str(model("llama")))
    assert tokenizer("A?")["input_ids"][0] == tokenizer.bos_token_id
    # The date is always the same.
    dated = opened(with_template(tmp_path / "dated", "gpt2", chat_models.DATED))
    assert dated._render(("A?",)).startswith("Today is 01 January 2025.\n<|im_start|>user\nA?")


def test_thinking_is_turned_off_or_named(model: Made, tmp_path: Path) -> None:
    quiet = opened(model("qwen2"))
    assert quiet._render(("A?",)).endswith("<think>\n\n</think>\n\n")
    assert not quiet.notices
    shown: list[str] = []
    folder = with_template(tmp_path / "thinker", "gpt2", chat_models.ALWAYS_THINKING)
    opened(folder, notice=shown.append)
    (notice,) = shown
    assert "begins every answer with thinking" in notice
    assert "endpoint" in notice


def test_marks_of_thinking() -> None:
    texts = ("<|im_start|>assistant\n<think>\n", "[THINK]", "<|begin_of_thought|>")
    for text in (*texts, "<|start_thinking|>", "<|channel|>"):
        assert chat_local._THINKS.search(text), text
    for text in ("<think>\n\n</think>\n\n", "[/INST]", "I think"):
        assert not chat_local._THINKS.search(text), text


def test_a_model_that_begins_with_thinking_is_named(tmp_path: Path) -> None:
    folder = chat_models.constant_chat_model(tmp_path / "thinker", "<think>")
    shown: list[str] = []
    reading = read_letters(bodies(opened(folder, notice=shown.append), ["A?", "B?"])[1])
    assert reading.code == "answer_off_format"
    assert "«<think>» with 100.0%" in reading.detail
    (notice,) = shown
    assert "begins an answer with «<think>»" in notice


def test_a_question_that_does_not_fit(model: Made) -> None:
    short, long = bodies(opened(model("gpt2")), ["A or B?", "A or B? " * 40])
    assert "letters" in short
    assert long["window"] == WINDOW < long["too_long"]
    reading = read_letters(long)
    assert reading.code == "answer_too_long"
    assert str(WINDOW) in reading.detail


def test_all_tokens_of_a_letter_are_found(model: Made) -> None:
    tokenizer = open_tokenizer(str(model("llama")))
    tokens = letter_tokens(tokenizer, PROMPTS, name="m")
    first, second = (set(token_texts(tokenizer, ids)) for ids in tokens)
    assert {"A", "a"} <= first
    assert {"B", "b"} <= second
    about = opened(model("llama")).about()
    assert set(about["letters"]["B"]) == second
    assert (about["family"], about["dtype"]) == ("causal", "float32")
    assert token_texts(tokenizer, [len(tokenizer) + 3]) == [""]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"letters": [-0.1, -3.0]}, ("first", "")),
        ({"letters": [-3.0, -0.1]}, ("second", "")),
        ({"letters": [-1e4, 0.0]}, ("second", "")),
        ({"letters": [math.log(0.25), math.log(0.25) + 1e-9]}, ("second", "")),
        ({"letters": [-2.0, -2.0], "top": "The", "top_log": -0.5}, ("", "answer_off_format")),
        ({"letters": [-2.0, -2.0], "top": 3}, ("", "answer_off_format")),
        ({"letters": None}, ("", "answer_off_format")),
        ({"letters": [math.nan, 0.0]}, ("", "answer_off_format")),
        ({"letters": [0.0, math.nan]}, ("", "answer_off_format")),
        ({"letters": "AB"}, ("", "answer_off_format")),
        ({"letters": [10**400, 0]}, ("", "answer_off_format")),
        ({"letters": [-2.0, -2.0], "top": "", "top_log": -(10**400)}, ("", "answer_off_format")),
        ({}, ("", "answer_off_format")),
        ({"too_long": 99, "window": 96}, ("", "answer_too_long")),
    ],
)
def test_what_the_letters_say(body: Body, expected: tuple[str, str]) -> None:
    reading = read_letters(body)
    assert (reading.letter, reading.code) == expected
    assert (reading.first is None) == bool(reading.code) == bool(reading.detail)
    assert not reading.sure


def test_the_probability_of_the_first_letter() -> None:
    reading = read_letters({"letters": [math.log(0.6), math.log(0.2)], "top": "A", "top_log": -0.7})
    assert reading.first == pytest.approx(0.75)
    rest = read_letters({"letters": [math.log(0.1), math.log(0.2)], "top": "It", "top_log": -1.0})
    assert rest.detail == (
        "both letters together have 30.0% of the probability; the likeliest token is «It» with "
        "36.8%"
    )


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    folder = chat_models.constant_chat_model(tmp_path / "broken", "A", gain=math.nan)
    reading = read_letters(bodies(opened(folder, plain=True), ["A?"])[0])
    assert reading.code == "answer_off_format"
    assert "--dtype" in reading.detail


@pytest.mark.parametrize(
    ("name", "template", "error", "fix"),
    [
        ("bert", chat_models.CHATML, "is a masked model", "causal"),
        ("t5", chat_models.CHATML, "is a seq2seq model", "causal"),
        ("gpt2", "", "no chat template", "without chat:"),
        ("gpt2", "{{ raise_exception('no roles') }}", "no roles", "chat_template"),
        ("gpt2", "{% if %}", "cannot be used", "chat_template"),
        ("gpt2", "{{ 1 / 0 }}", "division by zero", "chat_template"),
        ("gpt2", "Hello.", "leaves out the user's message", "chat_template"),
    ],
)
def test_models_that_cannot_be_asked(
    made: Made, tmp_path: Path, name: str, template: str, error: str, fix: str
) -> None:
    folder = with_template(tmp_path / name, name, template) if template else made(name)
    with fails(f"{name}: ", error, fix=fix):
        opened(folder)


def test_a_masked_model_is_refused_before_it_is_loaded(made: Made) -> None:
    with fails("is a masked model and cannot be asked"):
        identify(spec(made("bert")))


def test_a_letter_that_is_no_token(model: Made) -> None:
    with fails("«Ж»", fix="choose other letters in prompts.toml"):
        opened(model("gpt2"), replace(PROMPTS, letters=("A", "Ж")))


def test_identity_and_opening(model: Made) -> None:
    fields = identify(spec(model("gpt2"), label="mine"))
    assert (fields["family"], fields["model"]) == ("chat", "mine")
    assert fields["revision"].startswith("sha256:")
    assert "dtype" in fields
    behind = ModelSpec("m", url="https://key:secret@example.org/v1?k=1", chat=ChatSpec(ENGLISH))
    assert identify(behind) == {"model": "m", "family": "chat", "url": "https://example.org/v1"}
    with open_chat(spec(model("gpt2")), notice=print) as chat:
        assert isinstance(chat, LocalChat)
        assert set(chat.about()["letters"]) == set(INCLUDED.letters)


# --- a planted preference -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", CAT_KINDS)
def test_the_planted_model_answers_as_planted(planted_model: Path, kind: Kind) -> None:
    """Each prompt, in both orders, on CATs that it was not trained on."""
    asked, expected = [], []
    for each in chat_models.planted_cats(40, prefers=0.8, kind=kind)[::3]:
        sentences = [association.sentence for association in each.associations]
        liked = [chat_models.rank(sentence) for sentence in sentences]
        for one, other in ((0, 2), (2, 0), (1, 2), (2, 1), (0, 1), (1, 0)):
            for prompt in INCLUDED.by_kind[kind]:
                texts = {"first": sentences[one], "second": sentences[other]}
                asked.append(prompt.fill(context=each.context, **texts))
                expected.append("first" if liked[one] < liked[other] else "second")
    found = [read_letters(body).letter for body in bodies(opened(planted_model, INCLUDED), asked)]
    right = [letter == wanted for letter, wanted in zip(found, expected, strict=True)]
    assert sum(right) > 0.99 * len(right)
