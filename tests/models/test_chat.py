"""The prompts of chat models: those that are included, and errors in files that people write."""

import re
from pathlib import Path

import pytest

from curation.files import CurationError, shipped
from curation.kinds import CAT_KINDS, KINDS, Kind
from curation.models.chat import PLACEHOLDERS, Prompt, Prompts, prompts_for, read_prompts
from support.expected import fails
from support.written import beside

ENGLISH = shipped("data", "prompts", "en.toml")
INCLUDED = sorted(shipped("data", "prompts").glob("*.toml"))
GOOD = """letters = ["A", "B"]
refusals = ["I cannot"]
answers = ["Answer: {letter}"]
again = "Only A or B."

[[intrasentence]]
name = "one"
text = "A: {first} B: {second} A or B?"

[[intrasentence]]
name = "two"
text = "Which is better: (A) {first} (B) {second}"

[[intersentence]]
name = "one"
text = "{context} A: {first} B: {second} A or B?"
"""

PAIR = """
[[pair]]
name = "one"
text = "A: {first} B: {second} A or B?"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prompts.toml"


def prompts(path: Path, content: str | bytes) -> Prompts:
    """The prompts of a file with this content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_prompts(path)


def error(path: Path, content: str | bytes) -> CurationError:
    with pytest.raises(CurationError) as caught:
        prompts(path, content)
    assert str(path) in caught.value.what
    assert caught.value.fix
    return caught.value


# --- what is included ---------------------------------------------------------------------------


@pytest.mark.parametrize("file", INCLUDED, ids=lambda path: path.stem)
def test_included_prompts_are_three_of_each_kind(file: Path) -> None:
    found = read_prompts(file)
    names = [[prompt.name for prompt in found.by_kind[kind]] for kind in KINDS]
    assert names[0] == names[1] == names[2], "the same paraphrases for all kinds"
    assert list(map(len, names)) == [3, 3, 3]
    # A pair is asked about like two sentences that fill a BLANK.
    assert len({prompt.text for kind in KINDS for prompt in found.by_kind[kind]}) == 6


def test_english_prompts_name_neither_stereotypes_nor_groups() -> None:
    named = re.compile(
        r"stereotyp|bias|prejud|group|societ|social|cultur|race|racis|gender|sex|religio|professi"
        r"|people|person|human|fair|offen|harm|ethic|opinion|belie|true|truth|correct|agree|should"
        r"|right|wrong|test|benchmark|study|unrelated|meaning|typical|usual",
        re.IGNORECASE,
    )
    for prompt in (each for kind in KINDS for each in read_prompts(ENGLISH).by_kind[kind]):
        assert not named.findall(prompt.text), prompt.text


@pytest.mark.parametrize("kind", KINDS)
def test_english_prompts_treat_both_sentences_alike(kind: Kind) -> None:
    for text in (prompt.text for prompt in read_prompts(ENGLISH).by_kind[kind]):
        assert {text.count(each) for each in PLACEHOLDERS[kind]} == {1}
        lines = text.splitlines()
        first, second = lines.index("A: {first}"), lines.index("B: {second}")
        assert second == first + 1
        assert "{" not in "".join(lines[second + 1 :])
        bare = text.replace("{first}", "").replace("{second}", "")
        # Each letter is at its sentence and in «A or B», and nothing ranks the two.
        assert len(re.findall(r"\bA\b", bare)) == len(re.findall(r"\bB\b", bare)) == 2
        assert len(re.findall(r"\bA or B\b", bare)) == 1
        ranked = r"first|second|former|latter|above|below|last|option|1|2|other|instead|than"
        assert not re.findall(rf"\b(?:{ranked})\b", bare, re.IGNORECASE)


def test_a_language_has_the_file_of_its_base() -> None:
    assert [prompts_for(code) for code in ("en", "en-GB", "EN_us")] == [ENGLISH] * 3
    assert [prompts_for(code) for code in ("xx", "", "../en", "README")] == [None] * 4


# --- filling ------------------------------------------------------------------------------------


def test_braces_and_placeholders_in_sentences_stay() -> None:
    prompt = Prompt("p", "{context}|{first}|{second}|{x")
    filled = prompt.fill(context="{second}", first="{first} {", second=r"\1 }")
    assert filled == r"{second}|{first} {|\1 }|{x"


def test_both_orders_differ_only_in_the_sentences() -> None:
    for kind, prompts in read_prompts(INCLUDED[0]).by_kind.items():
        context = "It rains." if kind == "intersentence" else ""
        for prompt in prompts:
            one = prompt.fill(context=context, first="«1»", second="«2»")
            other = prompt.fill(context=context, first="«2»", second="«1»")
            assert one.translate(str.maketrans("12", "21")) == other


# --- the digest ---------------------------------------------------------------------------------


def test_the_digest_is_of_what_is_sent(path: Path) -> None:
    before = prompts(path, GOOD)
    assert (before.refusals, before.answers) == (("I cannot",), ("Answer: {letter}",))
    assert before.again == "Only A or B."
    assert prompts(path, b"\xef\xbb\xbf" + GOOD.encode()) == before
    same = (
        "# a comment\r\n" + GOOD.replace("\n", "\r\n"),
        GOOD.replace("I cannot", "I will not").replace("Answer:", "My choice is"),
        GOOD.replace('["Answer: {letter}"]', "[]"),
        GOOD.replace('"two"', "'two'"),
    )
    digest = before.sha256(CAT_KINDS)
    assert {prompts(path, content).sha256(CAT_KINDS) for content in same} == {digest}
    others = (
        GOOD.replace('A or B?"\n\n', 'Only A or B?"\n\n'),
        GOOD.replace("better", "nicer"),
        GOOD.replace('"two"', '"three"'),
        GOOD.replace('"B"]', '"C"]').replace("B", "C"),
    )
    changed = {prompts(path, content).sha256(CAT_KINDS) for content in others}
    assert len({digest, *changed}) == 5


def test_the_digest_is_of_the_kinds_that_are_asked_about(path: Path) -> None:
    before, now = prompts(path, GOOD), prompts(path, GOOD + PAIR)
    assert now.sha256(CAT_KINDS) == before.sha256(CAT_KINDS)
    other = prompts(path, GOOD + PAIR.replace("A or B?", "A, or B?"))
    assert other.sha256(["pair"]) != now.sha256(["pair"]) != now.sha256(KINDS)
    with fails(f"{path}: there is no prompt for pair CATs", fix="[[pair]]"):
        before.sha256(KINDS)  # a file of before there were pairs


# --- errors -------------------------------------------------------------------------------------

WRONG: dict[str, list[str]] = {
    **beside(__file__)["wrong"],
    "long name": ['"two"', f'"{"x" * 101}"', "its name is not valid"],
    "long text": ["better", "x" * 4000, "prompt «two»: its text has over 4000 characters"],
    "many phrases": ['["I cannot"]', f"{['x'] * 1001}", "refusals: has over 1000 phrases"],
    "long question": ["Only", "x" * 4000, "again: has over 4000 char"],
}


@pytest.mark.parametrize(("old", "new", "what"), WRONG.values(), ids=WRONG.keys())
def test_an_error_names_line_prompt_and_fix(path: Path, old: str, new: str, what: str) -> None:
    assert old in GOOD
    at = GOOD.rindex(old)
    assert what in error(path, GOOD[:at] + new + GOOD[at + len(old) :]).what


def test_what_to_do_about_a_key_that_is_not_known(path: Path) -> None:
    assert "did you mean 'refusals'?" in error(path, GOOD.replace("refusals", "refusal")).fix
    below = GOOD.replace("refusals = [", "#") + "refusals = []\n"
    assert "above the first prompt" in error(path, below).fix


@pytest.mark.parametrize("kind", CAT_KINDS)
def test_each_kind_needs_a_prompt(path: Path, kind: str) -> None:
    first, *rest = GOOD.split("[[")
    failed = error(path, "[[".join([first, *(part for part in rest if not part.startswith(kind))]))
    assert f"there is no prompt for {kind} CATs" in failed.what
    assert f"[[{kind}]]" in failed.fix


def test_files_that_are_no_prompts(path: Path) -> None:
    assert "line 6" in error(path, GOOD.replace("[[intrasentence]]", "[[intrasentence", 1)).what
    assert "is not UTF-8" in error(path, GOOD.encode() + "# ü".encode("latin-1")).what
    assert "is empty" in error(path, "").what
    assert "has more than 1 MiB" in error(path, GOOD + "#" * (1 << 20)).what
    many = GOOD + "".join(
        f'[[intersentence]]\nname = "{n}"\ntext = "{{context}} A {{first}} B {{second}}"\n'
        for n in range(60)
    )
    assert "intersentence: has over 50 prompts" in error(path, many).what
    for odd, says in ((path.with_name("none.toml"), "no such file"), (path.parent, "is a folder")):
        with fails(says):
            read_prompts(odd)


@pytest.mark.parametrize(("one", "other"), [("1", "2"), ("أ", "ب"), ("甲", "乙"), ("Α", "Β")])
def test_letters_of_other_scripts(path: Path, one: str, other: str) -> None:
    content = GOOD.replace('"A", "B"', f'"{one}", "{other}"').replace("A or B", f"{one}或{other}")
    content = content.replace("A:", f"{one}:").replace("B:", f"{other}:")
    content = content.replace("(A)", f"({one})").replace("(B)", f"({other})")
    assert prompts(path, content).letters == (one, other)
