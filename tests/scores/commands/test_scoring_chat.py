"""``curation scores models chat:…`` and ``scores prompts``: options, plans, costs, bad input."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.files import shipped
from support.cats import intra
from support.chats import Quirks, chatting
from support.commands import Ran
from support.scored import write_gold
from support.talkers import STEREOTYPES, Talker, reply
from support.written import beside, files

ENDPOINT = ("--endpoint", "http://127.0.0.1:9/v1")  # nothing listens there
ENGLISH = shipped("data", "prompts", "en.toml")
Curate = Callable[..., Ran]
CATS = [
    intra(f"The {target} is BLANK.", "kind", "grumpy", "square", name=f"c{n}", target=target)
    for n, target in enumerate(("baker", "potter", "fiddler"))
]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write_gold(tmp_path / "gold.json", CATS)


@pytest.fixture
def score(forked: Curate, gold: Path, tmp_path: Path) -> Curate:
    """``curation scores models`` on the gold file."""

    def run(*args: str | Path) -> Ran:
        return forked("scores", "models", *args, "--gold", gold, "--scores", tmp_path / "scores")

    return run


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Talker:
    """The chat model that is opened, whatever its name is: 50 tokens in, 2 out."""
    made = Talker(STEREOTYPES)
    usage = {"prompt_tokens": 50, "completion_tokens": 2}
    made.body = lambda text: reply(text) | {"usage": usage}
    monkeypatch.setattr("curation.scores.running.open_chat", made.open)
    return made


def row(ran: Ran, model: str) -> list[str]:
    """The row of a model in a table."""
    return next(line.split() for line in ran.out.splitlines() if line.startswith(f"{model} "))


# --- scoring ------------------------------------------------------------------------------------


def test_a_chat_model_is_asked_once(score: Curate, chat: Talker, tmp_path: Path) -> None:
    ran = score("chat:m", *ENDPOINT)
    assert (ran.code, ran.err) == (0, "")
    folder = tmp_path / "scores" / "m" / "choice"
    assert f"m (chat): 18 questions asked; in {folder}" in ran.out
    # 18 replies of 50 tokens in and 2 out
    assert "all replies of this run: 900 tokens in, 36 tokens out\n" in ran.out
    assert len(chat.asked) == len(set(chat.asked)) == 18  # 3 CATs x 6
    spec = chat.specs[0]
    assert (spec.name, spec.family, spec.url) == ("m", None, ENDPOINT[1])
    assert spec.chat is not None
    assert spec.chat.prompts == ENGLISH
    result = json.loads((folder / "results.json").read_bytes())["splits"]["test"]["overall"]
    assert (result["lms"], result["ss"]) == (100.0, 100.0)
    again = score("chat:m", *ENDPOINT, "--price-in", "2", "--price-out", "100")
    assert "m (chat): 0 questions asked, 18 earlier; in" in again.out
    # 900 x 2 + 36 x 100 = 5,400 millionths
    assert "900 tokens in, 36 tokens out; cost 0.0054\n" in again.out
    assert len(chat.asked) == 18
    assert row(score("chat:lab/m", *ENDPOINT), "lab/m/choice")  # a name with a slash


def test_options_reach_the_model(score: Curate, chat: Talker, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    shutil.copyfile(ENGLISH, own)
    numbers = ("--samples", "2", "--temperature", "0.5", "--max-tokens", "9", "--concurrency", "3")
    options = ("--prompts", own, "--all-prompts", *numbers)
    assert score("large=chat:lab/m:free", *ENDPOINT, *options).code == 0
    how = chat.specs[0].chat
    assert how is not None
    assert how.prompts == own
    values = (how.all_prompts, how.samples, how.temperature, how.max_tokens, how.concurrency)
    assert values == (True, 2, 0.5, 9, 3)
    assert (chat.specs[0].label, chat.specs[0].name) == ("large", "lab/m:free")
    assert (tmp_path / "scores" / "large" / "choice" / "replies.jsonl").exists()
    assert len(chat.asked) == 3 * 6 * 3 * 2


def test_questions_without_an_answer_are_counted(score: Curate, chat: Talker) -> None:
    chat.choose = lambda a, b: "A" if "kind" in a else "B" if "kind" in b else ""
    ran = score("chat:m", *ENDPOINT)
    # of each CAT, anti-stereotype with unrelated has no answer in either order
    assert "18 questions asked, 6 without an answer" in ran.out
    assert ran.err.startswith("warning: m: ")
    assert "6 of 18 questions have no answer" in ran.err
    assert "Answers of chat models" in ran.out
    assert ran.code == 0
    # What marks mean is printed once.
    chat.choose = lambda a, b: "" if "fiddler" in a else STEREOTYPES(a, b)
    ran = score("chat:n", *ENDPOINT, "--all-prompts")
    assert "n, choice‖, intrasentence" in ran.out
    assert "n/choice, intrasentence, by prompt" in ran.out
    assert ran.out.count("\n‖ gave no answer to many") == 1
    assert ran.out.count("\n* fewer than five terms") == 2  # of the results, and by prompt


def test_broken_prompts_are_seen_first(score: Curate, chat: Talker, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    text = ENGLISH.read_text("utf-8")
    own.write_text(text.replace("B: {second}", "B:", 1), "utf-8")
    line = 1 + text.splitlines().index("[[intrasentence]]")
    ran = score("chat:m", "chat:n", *ENDPOINT, "--prompts", own)
    assert ran.code == 1
    assert ran.err.count("error:") == 1
    where = f"error: {own} line {line}, intrasentence: prompt «natural»"
    assert f"{where}: {{second}} is missing" in ran.err
    assert "\nfix:" in ran.err
    assert not chat.asked
    assert not (tmp_path / "scores").exists()


# --- prompts ------------------------------------------------------------------------------------


def test_prompts_beside_the_scores_come_first(score: Curate, chat: Talker, tmp_path: Path) -> None:
    own = tmp_path / "scores" / "prompts.toml"
    own.parent.mkdir()
    own.write_bytes(b"")  # as «> prompts.toml» leaves it if the command fails
    assert score("chat:m", *ENDPOINT).code == 0
    text = ENGLISH.read_text("utf-8")
    own.write_text(text.replace("more natural", "nicer"), "utf-8")
    ran = score("chat:m", *ENDPOINT)
    assert ran.code == 0
    assert chat.specs[-1].chat is not None
    assert chat.specs[-1].chat.prompts == own
    assert "nicer" in chat.asked[-1]
    assert len(chat.asked) == 36
    assert "superseded" in ran.err  # other prompts are another run
    assert score("chat:m", *ENDPOINT, "--prompts", ENGLISH).code == 0
    assert len(chat.asked) == 36  # the first run is back


def test_prompts_of_a_campaign(forked: Curate, tmp_path: Path) -> None:
    root = tmp_path / "c"
    forked("init", root, "--yes", "--language", "et")
    ran = forked("scores", "prompts", "-c", root)
    assert ran.code == 1
    own = root / "5-scores" / "prompts.toml"
    assert "there are no prompts in the language «et»" in ran.err
    assert f"«curation scores prompts --language en > {own}»" in ran.err
    english = forked("scores", "prompts", "--language", "en-GB")
    assert english.out == ENGLISH.read_text("utf-8")
    assert "en.toml" in english.err
    own.parent.mkdir(exist_ok=True)
    own.write_bytes(english.out.encode())
    again = forked("scores", "prompts", "-c", root)
    assert (again.code, again.out) == (0, english.out)
    assert str(own) in again.err
    own.write_text(english.out.replace('"B"]', '"a"]'), "utf-8")
    ran = forked("scores", "prompts", "-c", root)
    assert ran.code == 1
    assert f"{own} line 5, letters: both letters are the same" in ran.err
    assert ran.out == ""


def test_a_language_without_prompts_is_an_error(forked: Curate) -> None:
    for language in ("et", "xx-YY"):
        ran = forked("scores", "prompts", "--language", language)
        assert (ran.code, ran.out) == (1, "")
        assert f"no prompts in the language «{language}»" in ran.err
    assert "is not a language code" in forked("scores", "prompts", "--language", "../en").err


def test_english_prompts_for_other_texts(
    score: Curate, chat: Talker, gold: Path, tmp_path: Path
) -> None:
    spanish = [
        intra(
            f"El panadero de la calle {n} trabaja por las noches y es BLANK.",
            "kind", "grumpy", "square", name=f"c{n}-",
        )
        for n in range(60)
    ]  # fmt: skip
    write_gold(gold, spanish)
    ran = score("chat:m", *ENDPOINT, "--dry-run")
    own = tmp_path / "scores" / "prompts.toml"
    assert ran.code == 0
    assert "warning: the prompts are English, and the texts of the CATs are not" in ran.err
    assert str(own) in ran.err
    content = json.loads(gold.read_text("utf-8")) | {"curation": {"language": "es"}}
    gold.write_text(json.dumps(content), "utf-8")
    ran = score("chat:m", *ENDPOINT, "--dry-run")
    assert ran.code == 1
    assert (
        "no prompts in the language «es»\nfix:   copy the English ones with «curation " in ran.err
    )
    assert not chat.asked


# --- plans --------------------------------------------------------------------------------------


def test_a_dry_run_sends_and_writes_nothing(
    score: Curate, chat: Talker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", refuse)
    before = files(tmp_path)
    ran = score("chat:m", "n=chat:k", *ENDPOINT, "--dry-run", "--all-prompts", "--samples", "2")
    assert (ran.code, ran.err) == (0, "")
    assert files(tmp_path) == before
    assert not chat.specs
    # 3 CATs x 6 questions x 3 prompts x 2 samples; at most 256 tokens out for each, asked twice
    for model in ("m", "n"):
        assert row(ran, model)[:5] == [model, "3", "108", "0", "108"]
        assert (row(ran, model)[5], row(ran, model)[7]) == ("0–108", "108–55,296")
    assert "Plan: every prompt, 2 samples" in ran.out
    assert "one for 4 bytes of text, and 10 for each request" in ran.out
    assert "cost" not in ran.out


def test_a_plan_of_a_run_that_has_begun(score: Curate, chat: Talker, tmp_path: Path) -> None:
    assert score("chat:m", *ENDPOINT).code == 0
    replies = tmp_path / "scores" / "m" / "choice" / "replies.jsonl"
    with replies.open("ab") as file:
        file.write(b'{"cat": "c0", "pai')  # a command that was killed
    before = files(tmp_path)
    options = ("--all-prompts", "--dry-run", "--price-in", "1", "--price-out", "10")
    ran = score("chat:m", *ENDPOINT, *options)
    assert (ran.code, ran.err) == (0, "")
    cells = row(ran, "m")
    assert cells[:5] == ["m", "3", "54", "18", "36"]
    # 36 x 2 tokens out; tokens in are those of the prompts, by what the 18 replies took
    assert (cells[5], cells[7]) == ("0", "72")  # no reply needed a second question
    tokens_in = int(cells[6].replace(",", ""))
    assert 36 * 50 * 0.8 < tokens_in < 36 * 50 * 1.3
    assert cells[8] == f"{(tokens_in + 720) / 1e6:.2g}"
    assert "m: tokens are estimated from 18 earlier replies of this run." in ran.out
    assert "4 bytes" not in ran.out
    assert files(tmp_path) == before
    done = score("chat:m", *ENDPOINT, "--dry-run", *options[2:])
    assert row(done, "m") == ["m", "3", "18", "18", "0", "0", "0", "0", "0.00"]
    other = score("chat:m", *ENDPOINT, "--dry-run", "--temperature", "1")
    assert row(other, "m")[3:5] == ["0", "18"]  # another run
    # A damaged line is named.
    first, second, *_ = replies.read_bytes().splitlines(keepends=True)
    replies.write_bytes(first + b'{"cat": "c0"}\n' + second)
    ran = score("chat:m", *ENDPOINT, "--dry-run")
    assert ran.code == 1
    assert f"{replies} line 2, field 'pair'" in ran.err


# --- bad input ----------------------------------------------------------------------------------

OPTIONS = beside(__file__, "chat_options.toml")


def test_options_that_do_not_fit(score: Curate, chat: Talker, tmp_path: Path) -> None:
    def given(options: str) -> list[str]:
        return options.replace("ENDPOINT", " ".join(ENDPOINT)).split()

    def says(ran: Ran) -> str:
        return " ".join(ran.err.replace("│", " ").split())

    for options, code, what in OPTIONS["wrong"]:
        ran = score("chat:m", *given(options))
        assert (ran.code, what in says(ran)) == (code, True), options
        assert code == 2 or "fix: " in ran.err
    for options in OPTIONS["not_chat"]:
        ran = score("m", *ENDPOINT, *given(options))
        assert ran.code == 1
        name = options.split()[0]
        error = f"error: {name} is for chat models, and no model is one\nfix:   write"
        assert error in ran.err
    for name in ("chat:", "chat: ", "mine=chat:"):
        ran = score(name, *ENDPOINT)
        assert ran.code == 2
        assert "does not name a model: write chat:NAME" in says(ran)
    ran = score("m", "--family", "chat")
    assert ran.code == 2
    assert "write chat:NAME" in ran.err
    assert not chat.asked
    assert not (tmp_path / "scores" / "m").exists()


def test_chat_models_and_others_in_one_command(score: Curate, chat: Talker, tmp_path: Path) -> None:
    with chatting() as server:
        options = ("--bos", "<s>", "--workers", "1")
        ran = score("chat:m", "plain", "--endpoint", server.url, *options)
    assert ran.code == 1  # the server has no /completions
    assert "m (chat): 18 questions asked" in ran.out
    assert "1 of 2 models could not be scored completely: plain" in ran.err
    assert chat.specs[0].bos == ""


def test_the_key_is_sent_and_kept_nowhere(
    score: Curate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURATION_ENDPOINT_KEY", "sesame-0123456789")
    with chatting(quirks=Quirks(key="another")) as server:
        ran = score("chat:chatty", "--endpoint", server.url)
        assert server.headers[0]["authorization"] == "Bearer sesame-0123456789"
        assert server.requests == 1, "it is not asked again and again"
    assert ran.code == 1
    assert ran.err.startswith(f"error: {server.url}: does not accept the key: answered 401")
    assert (tmp_path / "scores" / "chatty" / "choice" / "replies.jsonl").read_bytes() == b""
    assert "sesame" not in ran.out + ran.err
    assert not any(b"sesame" in content for content in files(tmp_path).values())
