"""How a chat model is asked: its settings, the prompts of a TOML file, and what tokens cost."""

import difflib
import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

from curation.files import CurationError, read_text, shipped
from curation.formats.table_words import PROMPTS
from curation.formats.toml_files import line_of, read_toml, toml_key
from curation.kinds import ITEMS, KINDS, Kind
from curation.records import Fields
from curation.text.words import base

DOCS = "docs/chat.md describes the file (Prompts of your own)"
PLACEHOLDERS: dict[Kind, tuple[str, ...]] = {
    name: ("{context}", "{first}", "{second}")
    if kind.context and not kind.has_gap
    else ("{first}", "{second}")
    for name, kind in ITEMS.items()
}
"""The placeholders that a prompt of each kind has."""
LONGEST_LETTER, LONGEST_NAME, LONGEST_TEXT, LONGEST_PHRASE = 8, 100, 4000, 200  # characters
MOST_PROMPTS, MOST_PHRASES = 50, 1000
LETTER = "{letter}"
_LISTS = ("answers", "refusals")
_BRACES = re.compile(r"\{+\s*\w*\s*\}+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def one_line(text: str) -> str:
    """A text with spaces instead of line breaks, as it is sent."""
    return " ".join(text.splitlines())


class Prompt(NamedTuple):
    """One wording of the question."""

    name: str
    text: str

    def fill(self, *, context: str, first: str, second: str) -> str:
        r"""The text that is sent. Braces in the sentences are left as they are.

        A line break in a sentence becomes a space: a new line could look like another option.

        >>> Prompt("p", "A: {first} B: {second}").fill(context="", first="{second}", second="b\nc")
        'A: {second} B: b c'
        """
        texts = {"{context}": context, "{first}": first, "{second}": second}
        parts = {name: one_line(text) for name, text in texts.items()}
        return re.sub("|".join(map(re.escape, parts)), lambda match: parts[match[0]], self.text)


@dataclass(frozen=True)
class Prompts:
    """The prompts of a language.

    Attributes:
        letters: the two answers, for the association that is shown first and second.
        again: the second question, for a reply that is not a letter in a form that is read.
        answers: phrases that name a letter, each with ``{letter}``.
        refusals: words and phrases that mark a refusal.
        by_kind: the prompts of each kind of CAT, in order; pairs may have none.
        where: the file, for errors.
    """

    letters: tuple[str, str]
    again: str
    answers: tuple[str, ...]
    refusals: tuple[str, ...]
    by_kind: Mapping[Kind, tuple[Prompt, ...]]
    where: str

    def sha256(self, kinds: Collection[Kind]) -> str:
        """The digest of what is sent about CATs of these kinds, to identify a run.

        That is the letters, the second question, names and texts. Comments, spelling of the TOML,
        ``answers`` and ``refusals`` do not change it.

        Raises:
            CurationError: there is no prompt for one of the kinds.
        """
        for kind in kinds:
            if not self.by_kind[kind]:
                form = f'write each prompt as [[{kind}]] with name = "…" and text = """…"""'
                raise CurationError(
                    f"{self.where}: there is no prompt for {kind} CATs", f"{form}; {DOCS}"
                )
        own = {kind: self.by_kind[kind] for kind in KINDS if kind in kinds}
        sent = json.dumps([self.letters, self.again, own], sort_keys=True)
        return hashlib.sha256(sent.encode()).hexdigest()


def prompts_for(language: str) -> Path | None:
    """The file of prompts that is included for a language; None if it has no file.

    A region or script is not looked at: «en-GB» has the file of «en».
    """
    name = base(language)
    path = shipped("data", "prompts", f"{name}.toml")
    return path if name.isalpha() and path.is_file() else None


def read_prompts(path: Path) -> Prompts:
    """Read a file of prompts, or the section ``[prompts]`` of a campaign's texts.

    Raises:
        CurationError: the file cannot be read, is not TOML or has an error; the message names the
            line, and the prompt.
    """
    table = read_toml(path, fix=f"correct this line; {DOCS}")
    reader = _Reader(path)
    table = table.get(PROMPTS, table)
    if not isinstance(table, dict):
        reader.fail(PROMPTS, "it is not a section", f"write [{PROMPTS}] above the prompts; {DOCS}")
    known = ("letters", "again", *_LISTS, *KINDS)
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            fix = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
            reader.fail(key, "there is no such key", f"{fix}; {DOCS}")
    letters = reader.letters(table.get("letters"))
    again = reader.again(table.get("again"), letters)
    answers, refusals = (reader.phrases(key, table.get(key)) for key in _LISTS)
    by_kind = {kind: reader.prompts(kind, table.get(kind), letters) for kind in KINDS}
    return Prompts(letters, again, answers, refusals, by_kind, str(path))


class _Reader:
    """Checks the content of a file of prompts; an error names the line."""

    def __init__(self, path: Path) -> None:
        self._path, self._text = path, read_text(path)

    def fail(self, key: str, what: str, fix: str, *, line: str = "") -> NoReturn:
        """Raise the error about a key, with its line."""
        keys = ([key], 0), ([key], 1), ([PROMPTS, key], 1), ([PROMPTS, key], 2)
        places = (line_of(self._text, names, depth=depth) for names, depth in keys)
        where = line or next(filter(None, places), "")
        raise CurationError(f"{self._path}{where}, {toml_key(key)[:200]}: {what}", fix)

    def letters(self, given: Any) -> tuple[str, str]:
        """The two letters."""
        fix = 'write two different letters above the first prompt: letters = ["A", "B"]'
        if given is None:
            self.fail("letters", "is missing", fix)
        if not isinstance(given, list) or len(given) != 2:
            self.fail("letters", "is not a list of two letters", fix)
        for letter in given:
            if not isinstance(letter, str) or not letter:
                self.fail("letters", f"{_short(letter)} is not a letter", fix)
            if len(letter) > LONGEST_LETTER or not any(map(str.isalnum, letter)):
                self.fail("letters", f"{_short(letter)} is not a letter or a short word", fix)
            if any(map(str.isspace, letter)) or _CONTROL.search(letter):
                self.fail("letters", f"{_short(letter)} has a space in it", fix)
        one, other = (unicodedata.normalize("NFKC", letter).casefold() for letter in given)
        if one == other:
            self.fail("letters", "both letters are the same", f"{fix}; capitals do not count")
        if one.startswith(other) or other.startswith(one):
            self.fail("letters", "one of the letters is the beginning of the other", fix)
        return given[0], given[1]

    def again(self, given: Any, letters: tuple[str, str]) -> str:
        """The second question."""
        fix = 'write it above the first prompt: again = "Answer with one letter only: A or B."'
        if not isinstance(given, str) or not given.strip():
            self.fail("again", "is missing, or is not a text", fix)
        if len(given) > LONGEST_TEXT or _CONTROL.search(given):
            self.fail("again", f"has over {LONGEST_TEXT} characters, or a control character", fix)
        if missing := _missing_letter(given, letters):
            self.fail("again", f"the letter {_short(missing)} does not occur in it", fix)
        return given

    def phrases(self, key: str, given: Any) -> tuple[str, ...]:
        """A list of words and phrases."""
        fix = f'write a list above the first prompt, such as {key} = ["…"]; it may be empty: []'
        if given is None:
            self.fail(key, "is missing", fix)
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            self.fail(key, "is not a list of texts", fix)
        if len(given) > MOST_PHRASES:
            self.fail(key, f"has over {MOST_PHRASES} phrases", "leave some of them out")
        for phrase in given:
            if not phrase.strip() or len(phrase) > LONGEST_PHRASE:
                bounds = f"1 to {LONGEST_PHRASE} characters"
                self.fail(key, f"{_short(phrase)} does not have {bounds}", fix)
            if key == "answers" and (
                phrase.count(LETTER) != 1 or not any(map(str.isalnum, phrase.replace(LETTER, "")))
            ):
                fix = f'write {LETTER} where the letter is, such as "The answer is {LETTER}"'
                self.fail(key, f"{_short(phrase)} needs words, and {LETTER} once", fix)
        return tuple(given)

    def prompts(self, kind: Kind, given: Any, letters: tuple[str, str]) -> tuple[Prompt, ...]:
        """The prompts of a kind of CAT."""
        form = f'write each prompt as [[{kind}]] with name = "…" and text = """…"""'
        if given is None and not ITEMS[kind].context:
            return ()
        if not given:
            self.fail(kind, f"there is no prompt for {kind} CATs", f"{form}; {DOCS}")
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            self.fail(kind, "is not a list of prompts", form)
        if len(given) > MOST_PROMPTS:
            self.fail(kind, f"has over {MOST_PROMPTS} prompts", "leave some of them out")
        heads = [
            number
            for number, line in enumerate(self._text.splitlines(), 1)
            if re.match(rf"\s*\[\[\s*(?:{PROMPTS}\s*\.\s*)?[\"']?{kind}[\"']?\s*\]\]", line)
        ]
        prompts: dict[str, Prompt] = {}
        for index, table in enumerate(given):
            line = f" line {heads[index]}" if len(heads) == len(given) else ""
            name = table.get("name")
            called = f" {_short(name)}" if isinstance(name, str) and name else f" {index + 1}"

            def fail(what: str, fix: str, line: str = line, called: str = called) -> NoReturn:
                self.fail(kind, f"prompt{called}: {what}", fix, line=line)

            if extra := [key for key in table if key not in ("name", "text")]:
                fail(f"there is no such key: {_short(extra[0])}", form)
            for key in ("name", "text"):
                if not isinstance(table.get(key), str) or not table[key].strip():
                    fail(f"{key} is missing, or is not a text", form)
                if _CONTROL.search(table[key]):
                    fail(f"{key} has a control character", "remove it")
            if len(name) > LONGEST_NAME or name != name.strip() or "\n" in name:
                bounds = f"at most {LONGEST_NAME} characters in one line"
                fail("its name is not valid", f"a name has {bounds}, without spaces around it")
            if name in prompts:
                fail("there are two prompts of this name", "give each prompt a name of its own")
            if wrong := _wrong_text(kind, table["text"], letters):
                fail(*wrong)
            prompts[name] = Prompt(name, table["text"])
        return tuple(prompts.values())


def _wrong_text(kind: Kind, text: str, letters: tuple[str, str]) -> tuple[str, str] | None:
    """What is wrong with the text of a prompt, and how to fix it."""
    known = PLACEHOLDERS[kind]
    if len(text) > LONGEST_TEXT:
        return f"its text has over {LONGEST_TEXT} characters", "make it shorter"
    braces = _BRACES.findall(text)
    for each in braces:
        if each == "{context}" and each not in known:
            return (
                "{context} is for intersentence CATs only: its sentences contain the context",
                "remove {context}",
            )
        if each not in known:
            fix = f"use {', '.join(known[:-1])} and {known[-1]}, in lower case and without spaces"
            return f"{_short(each)} is not a placeholder", fix
    for each in known:
        if each not in braces:
            return f"{each} is missing", f"write {each} where that text must be"
    if braces.count("{first}") != braces.count("{second}"):
        return (
            "{first} and {second} do not occur equally often",
            "use both in the same way: neither sentence may be shown more often",
        )
    if text.index("{second}") < text.index("{first}"):
        return (
            "{second} comes before {first}",
            "swap them: {first} is the sentence that is shown first",
        )
    if letter := _missing_letter(_BRACES.sub(" ", text), letters):
        return (
            f"the letter {_short(letter)} does not occur in the text",
            f"show {letters[0]} with {{first}}, and {letters[1]} with {{second}}",
        )
    return None


def _missing_letter(text: str, letters: tuple[str, str]) -> str:
    """The first letter that a text does not show; or ""."""
    for letter in letters:
        if not re.search(rf"(?<!\w){re.escape(letter)}(?!\w)", text, re.ASCII):
            return letter
    return ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return f"«{text[:40]}…»" if len(text) > 40 else f"«{text}»"


Turns = tuple[str, ...]
"""A conversation: the question; or the question, the model's answer, and the second question."""


def messages(turns: Turns) -> list[dict[str, str]]:
    """The messages of a conversation.

    >>> messages(("A or B?",))
    [{'role': 'user', 'content': 'A or B?'}]
    """
    return [
        {"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(turns)
    ]


Answered = Callable[[int, int, Fields], None]
"""Receives the number of a conversation, the HTTP status (0 on this machine) and the reply."""


@dataclass(frozen=True)
class ChatSpec:
    """How a chat model is asked: all that does not depend on the model.

    Attributes:
        prompts: the file of prompts.
        all_prompts: ask with every prompt of the file, not only the first of each kind.
        samples: how often each question is asked.
        temperature: of sampling; only for endpoints.
        max_tokens: the largest number of tokens of an answer; only for endpoints.
        concurrency: requests under way at the same time; only for endpoints.
    """

    prompts: Path
    all_prompts: bool = False
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 256
    concurrency: int = 8


class Chat(Protocol):
    """A chat model that is open: ``chat_endpoint.ChatEndpoint`` or ``chat_local.LocalChat``."""

    def ask(self, questions: Sequence[Turns], answered: Answered) -> None:
        """Ask the last turn of each conversation; each reply is passed on as it comes."""

    def about(self) -> Fields:
        """What was opened, for ``run.json``."""


class Prices(NamedTuple):
    """Prices of a million tokens, in any currency."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of these tokens.

        >>> Prices(0.5, 2).cost(3_000_000, 500_000)
        2.5
        """
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


def price(text: str) -> float:
    """A price of a million tokens.

    Raises:
        CurationError: it is not a number, or is negative or not finite.

    >>> price("0.15")
    0.15
    """
    fix = "give the price of a million tokens as a number, such as 0.15, without a currency"
    try:
        value = float(text)
    except ValueError:
        raise CurationError(f"{text[:40]!r} is not a price", fix) from None
    if not math.isfinite(value):
        raise CurationError(f"{text[:40]!r} is not a finite number", fix)
    if value < 0:
        raise CurationError(f"{text[:40]!r} is negative", fix)
    return value
