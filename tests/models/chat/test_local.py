"""Local chat models: the letters' log-probabilities, and what a model must have."""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.models import forward
from curation.models.chat import local
from curation.models.chat.local import LocalChat, letter_tokens, token_texts
from curation.models.chat.prompts import ChatSpec, Prompts, read_prompts
from curation.models.chat.reading import read_letters
from curation.models.loading import open_tokenizer
from curation.models.scoring import ModelSpec, identify, load_model, open_chat
from curation.records import KINDS, Kind
from support import chat_models, choice_reference
from support.chat_models import ENGLISH, TEMPLATES, with_template
from support.models import MAKERS, WINDOW

PROMPTS = Prompts(("A", "B"), (), (), {}, "", "prompts.toml")
TEXTS = [
    "A: The baker is kind.\nB: The baker is a cloud.",
    "A: The baker is a cloud.\nB: The baker is kind.\nA or B?",
    "Çalışkan 🥐? A, B",
    "B?",
]
Body = dict[str, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: with_template(tmp_path_factory.mktemp("models") / name, name))


def spec(folder: Path, **how: Any) -> ModelSpec:
    return ModelSpec(str(folder), chat=ChatSpec(ENGLISH), **how)


def local_chat(spec: ModelSpec, prompts: Prompts, **how: Any) -> LocalChat:
    loaded = load_model(spec)
    return LocalChat(loaded, prompts, batch_tokens=spec.batch_tokens, plain=spec.plain, **how)


def bodies(chat: LocalChat, texts: list[str]) -> list[Body]:
    replies: dict[int, Body] = {}

    def answered(n: int, status: int, body: Body) -> None:
        assert status == 0
        assert n not in replies
        json.dumps(body, allow_nan=False)
        replies[n] = body

    chat.ask(texts, answered)
    return [replies[n] for n in range(len(texts))]


def expect(body: Body, letters: choice_reference.Letters, tolerance: float = 1e-5) -> None:
    assert body["letters"] == pytest.approx([letters.first, letters.second], abs=tolerance)
    assert body["top_log"] == pytest.approx(letters.top_log, abs=tolerance)
    assert body["top"] == letters.top


@pytest.mark.parametrize("name", TEMPLATES)
def test_letters_equal_a_slow_reference(model: Callable[[str], Path], name: str) -> None:
    folder = model(name)
    slow = [choice_reference.letters(folder, text) for text in TEXTS]
    chat = local_chat(spec(folder), PROMPTS)
    for body, letters in zip(bodies(chat, TEXTS), slow, strict=True):
        expect(body, letters)
    for how in ({"batch_tokens": 1}, {"plain": True}, {"plain": True, "batch_tokens": 1}):
        other = local_chat(spec(folder, **how), PROMPTS)
        for body, letters in zip(bodies(other, TEXTS[::-1]), slow[::-1], strict=True):
            expect(body, letters)


def test_16_bits(model: Callable[[str], Path]) -> None:
    chat = local_chat(spec(model("llama"), dtype="bfloat16"), PROMPTS)
    for body, text in zip(bodies(chat, TEXTS), TEXTS, strict=True):
        slow = choice_reference.letters(model("llama"), text, dtype="bfloat16")
        assert body["letters"] == pytest.approx([slow.first, slow.second], abs=0.3)


def test_batches_are_halved_without_memory(
    model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = bodies(local_chat(spec(model("gpt2")), PROMPTS), TEXTS)
    shown: list[str] = []
    chat = local_chat(spec(model("gpt2"), batch_tokens=4096), PROMPTS, notice=shown.append)
    run = forward.Runner._batch

    def small(self: Any, rows: Any, *args: Any, **how: Any) -> None:
        if len(rows) > 1:
            raise RuntimeError("CUDA out of memory")
        run(self, rows, *args, **how)

    monkeypatch.setattr(forward.Runner, "_batch", small)
    for body, same in zip(bodies(chat, TEXTS), usual, strict=True):
        assert body["letters"] == pytest.approx(same["letters"], abs=1e-5)
    assert any("out of memory" in text for text in shown)


def test_replies_come_part_by_part(
    model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "PART", 2)
    order: list[int] = []
    chat = local_chat(spec(model("gpt2")), PROMPTS)

    def answered(n: int, _status: int, _body: Body) -> None:
        order.append(n)
        if n == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chat.ask(TEXTS, answered)
    assert order == [0, 1]
    assert chat.ask([], answered) is None


def test_the_beginning_of_text_is_there_once(model: Callable[[str], Path]) -> None:
    chat = local_chat(spec(model("llama")), PROMPTS)
    assert chat._render("A?").startswith("<s>[INST]")
    tokenizer = open_tokenizer(str(model("llama")))
    assert tokenizer("A?")["input_ids"][0] == tokenizer.bos_token_id  # it adds one by itself


def test_the_date_is_always_the_same(tmp_path: Path) -> None:
    folder = with_template(tmp_path / "dated", "gpt2", chat_models.DATED)
    chat = local_chat(spec(folder), PROMPTS)
    assert chat._render("A?").startswith("Today is 01 January 2025.\n<|im_start|>user\nA?")


def test_thinking_is_turned_off_or_named(model: Callable[[str], Path], tmp_path: Path) -> None:
    quiet = local_chat(spec(model("qwen2")), PROMPTS)
    assert quiet._render("A?").endswith("<think>\n\n</think>\n\n")
    assert not quiet.notices
    shown: list[str] = []
    folder = with_template(tmp_path / "thinker", "gpt2", chat_models.ALWAYS_THINKING)
    local_chat(spec(folder), PROMPTS, notice=shown.append)
    assert len(shown) == 1
    assert "begins every answer with thinking" in shown[0]
    assert "endpoint" in shown[0]


@pytest.mark.parametrize(
    ("text", "thinks"),
    [
        ("<|im_start|>assistant\n<think>\n", True),
        ("<think>\n\n</think>\n\n", False),
        ("[THINK]", True),
        ("<|begin_of_thought|>", True),
        ("<|start_thinking|>", True),
        ("<|channel|>", True),
        ("[/INST]", False),
        ("I think", False),
    ],
)
def test_marks_of_thinking(text: str, *, thinks: bool) -> None:
    assert bool(local._THINKS.search(text)) is thinks


def test_a_model_that_begins_with_thinking_is_named(tmp_path: Path) -> None:
    folder = chat_models.constant_chat_model(tmp_path / "thinker", "<think>")
    shown: list[str] = []
    chat = local_chat(spec(folder), PROMPTS, notice=shown.append)
    reading = read_letters(bodies(chat, ["A?", "B?"])[1])
    assert reading.code == "answer_off_format"
    assert "«<think>» with 100.0%" in reading.detail
    assert len(shown) == 1
    assert "begins an answer with «<think>»" in shown[0]


def test_a_question_that_does_not_fit(model: Callable[[str], Path]) -> None:
    chat = local_chat(spec(model("gpt2")), PROMPTS)
    short, long = bodies(chat, ["A or B?", "A or B? " * 40])
    assert "letters" in short
    assert long["window"] == WINDOW < long["too_long"]
    reading = read_letters(long)
    assert reading.code == "answer_too_long"
    assert str(WINDOW) in reading.detail


def test_all_tokens_of_a_letter_are_found(model: Callable[[str], Path]) -> None:
    tokenizer = open_tokenizer(str(model("llama")))
    texts = [
        set(token_texts(tokenizer, ids)) for ids in letter_tokens(tokenizer, PROMPTS, name="m")
    ]
    assert {"A", "a"} <= texts[0]
    assert {"B", "b"} <= texts[1]
    about = local_chat(spec(model("llama")), PROMPTS).about()
    assert set(about["letters"]["B"]) == texts[1]
    assert about["family"] == "causal"
    assert about["dtype"] == "float32"
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
    reading = read_letters(bodies(local_chat(spec(folder, plain=True), PROMPTS), ["A?"])[0])
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
    tmp_path: Path, name: str, template: str, error: str, fix: str
) -> None:
    if template:
        with_template(tmp_path / name, name, template)
    else:
        MAKERS[name](tmp_path / name)
    with pytest.raises(CurationError) as raised:
        local_chat(spec(tmp_path / name), PROMPTS)
    assert error in raised.value.what
    assert name in raised.value.what
    assert fix in raised.value.fix


def test_a_masked_model_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(CurationError, match="is a masked model and cannot be asked"):
        identify(spec(MAKERS["bert"](tmp_path / "bert")))


def test_a_letter_that_is_no_token(model: Callable[[str], Path]) -> None:
    prompts = Prompts(("A", "Ж"), (), (), {}, "", "prompts.toml")
    with pytest.raises(CurationError) as raised:
        local_chat(spec(model("gpt2")), prompts)
    assert "«Ж»" in raised.value.what
    assert raised.value.fix == "choose other letters in prompts.toml"


def test_identity_and_opening(model: Callable[[str], Path]) -> None:
    fields = identify(spec(model("gpt2"), label="mine"))
    assert fields["family"] == "chat"
    assert fields["model"] == "mine"
    assert fields["revision"].startswith("sha256:")
    assert "dtype" in fields
    behind = ModelSpec("m", url="https://key:secret@example.org/v1?k=1", chat=ChatSpec(ENGLISH))
    assert identify(behind) == {"model": "m", "family": "chat", "url": "https://example.org/v1"}
    with open_chat(spec(model("gpt2")), notice=print) as chat:
        assert isinstance(chat, LocalChat)
        assert set(chat.about()["letters"]) == set(read_prompts(ENGLISH).letters)


# --- a planted preference -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_planted_model_answers_as_planted(planted_model: Path, kind: Kind) -> None:
    """Each prompt, in both orders, on CATs that it was not trained on."""
    prompts = read_prompts(ENGLISH)
    cats = chat_models.planted_cats(40, prefers=0.8, kind=kind)
    asked, expected = [], []
    for each in cats[::3]:
        sentences = [association.sentence for association in each.associations]
        liked = [chat_models.rank(sentence) for sentence in sentences]
        for one, other in ((0, 2), (2, 0), (1, 2), (2, 1), (0, 1), (1, 0)):
            for prompt in prompts.by_kind[kind]:
                texts = {"first": sentences[one], "second": sentences[other]}
                asked.append(prompt.fill(context=each.context, **texts))
                expected.append("first" if liked[one] < liked[other] else "second")
    readings = [
        read_letters(body) for body in bodies(local_chat(spec(planted_model), prompts), asked)
    ]
    right = [reading.letter == letter for reading, letter in zip(readings, expected, strict=True)]
    assert sum(right) > 0.99 * len(right)


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_recovers_the_planted_share(planted_model: Path, kind: Kind) -> None:
    prompts = read_prompts(ENGLISH)
    cats = chat_models.planted_cats(40, prefers=0.8, kind=kind)
    values = choice_reference.choice(planted_model, cats, prompts)
    assert values == pytest.approx({"lms": 100, "ss": 80, "icat": 40, "cats": 40})
    shy = chat_models.planted_cats(8, prefers=0.5, kind=kind, shy=0.5)
    values = choice_reference.choice(planted_model, shy, prompts)
    assert values["cats"] == 4


def test_models_that_answer_always_alike_or_at_random(tmp_path: Path) -> None:
    prompts = read_prompts(ENGLISH)
    cats = chat_models.planted_cats(8, prefers=0.5)
    always = chat_models.constant_chat_model(tmp_path / "always", "B")
    assert choice_reference.choice(always, cats, prompts) == {
        "lms": 50, "ss": 50, "icat": 50, "cats": 8
    }  # fmt: skip
    never = chat_models.constant_chat_model(tmp_path / "never", chat_models.SORRY)
    assert choice_reference.values(never, cats[0], prompts) == [None] * 3
    random = local_chat(spec(chat_models.random_chat_model(tmp_path / "random")), prompts)
    texts = [
        prompt.fill(context="", first=cat.associations[one].sentence, second=other.sentence)
        for cat in cats
        for one, other in ((0, cat.associations[1]), (1, cat.associations[0]))
        for prompt in prompts.by_kind["intrasentence"]
    ]
    letters = [read_letters(body).letter for body in bodies(random, texts)]
    assert 0.3 < letters.count("first") / len(letters) < 0.7
