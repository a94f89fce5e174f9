"""Ask a model on this machine by its chat template, and read the letters' log-probabilities.

A text is one message of a user. The letters are read where the template asks for an answer, at its
first token. So nothing is sampled: temperature and token limits do not apply.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from curation.files import CurationError, printable
from curation.models.chat import Answered, Prompts, Turns, messages
from curation.models.forward import ITS_LOG, LIKELIEST, Runner, Text
from curation.models.loading import Loaded, check_causal
from curation.records import Fields

_MARKUP = frozenset("*_`\"'()[].:")


def bare(text: str) -> str:
    """A text as it is compared with a letter: without spaces and markup around it, and its case.

    >>> bare(" **A**."), bare("(b)"), bare("A B")
    ('a', 'b', 'a b')
    """
    return "".join(" " if sign in _MARKUP else sign for sign in text).strip().casefold()


def letter_tokens(tokenizer: Any, prompts: Prompts, *, name: str) -> tuple[list[int], list[int]]:
    """All tokens that read as the first letter and as the second, without special tokens.

    Args:
        tokenizer: the model's tokenizer.
        prompts: the letters.
        name: the model, for errors.

    Raises:
        CurationError: a letter is not a token.
    """
    special = set(tokenizer.all_special_ids)
    texts = token_texts(tokenizer, range(len(tokenizer)))
    letters = [bare(letter) for letter in prompts.letters]
    found: tuple[list[int], list[int]] = ([], [])
    for token, text in enumerate(texts):
        reads = bare(text)
        if reads and reads in letters and token not in special:
            found[letters.index(reads)].append(token)
    for letter, tokens in zip(prompts.letters, found, strict=True):
        if not tokens:
            raise CurationError(
                f"{name}: its vocabulary has no token for the letter «{letter}»",
                f"choose other letters in {prompts.where}",
            )
    return found


def token_texts(tokenizer: Any, tokens: Sequence[int]) -> list[str]:
    """The text of each token alone; "" for a token that the tokenizer does not know."""
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    known = len(tokenizer)
    rows = [[int(token)] for token in tokens if 0 <= token < known]
    texts = iter(tokenizer.batch_decode(rows, **options))
    return [next(texts) if 0 <= token < known else "" for token in tokens]


PART = 256  # texts whose replies come together; a killed run loses at most this many
_GPU_PART = 2048
# Some templates tell the model today's date. The same text must give the same result tomorrow.
_DATE = {
    "%d": "01", "%m": "01", "%Y": "2025", "%B": "January", "%b": "Jan", "%A": "Wednesday",
    "%a": "Wed", "%H": "12", "%M": "00", "%S": "00",
}  # fmt: skip
_SAME_DAY = "".join(f" | replace('{code}', '{text}')" for code, text in _DATE.items())
_SAME_DAY = f"{{%- macro strftime_now(format) -%}}{{{{ format{_SAME_DAY} }}}}{{%- endmacro +%}}"
_LEAST = -1e4  # JSON has no infinity; a smaller log-probability is 0 in any case
_THINKS = re.compile(r"[<[]\|?[\w ]*(think|thought|reason|channel)[\w ]*\|?[]>]\s*$", re.IGNORECASE)
_PLAIN = {"add_special_tokens": False, "verbose": False}


class LocalChat:
    """An instruction-tuned model that is loaded.

    Attributes:
        notices: messages for the user.
    """

    def __init__(
        self,
        loaded: Loaded,
        prompts: Prompts,
        *,
        batch_tokens: int | None = None,
        plain: bool = False,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Find the tokens of the letters.

        Args:
            loaded: the model.
            prompts: the letters.
            batch_tokens: tokens in a batch; None for a size that suits the device.
            plain: use no packed rows.
            notice: receives the notices as they come.

        Raises:
            CurationError: the model is not a causal model or has no chat template that can be used,
                or a letter is not a token.
        """
        check_causal(loaded.family, loaded.name)
        self._tokenizer, self._name = loaded.tokenizer, loaded.name
        self._template = _template(self._tokenizer, self._name)
        self._letters = letter_tokens(self._tokenizer, prompts, name=self._name)
        self._runner = Runner(loaded, batch_tokens=batch_tokens, plain=plain)
        self._part = PART if loaded.device.type == "cpu" else _GPU_PART
        self._notice, self._shown = notice, 0
        texts = [token_texts(self._tokenizer, tokens) for tokens in self._letters]
        self._about = loaded.about | {"letters": dict(zip(prompts.letters, texts, strict=True))}
        self.notices = loaded.notices
        self._thinks = bool(_THINKS.search(self._render(("?",))))
        if self._thinks:
            self._advise("its chat template begins every answer with thinking")
        self._pass_on()

    def ask(self, questions: Sequence[Turns], answered: Answered) -> None:
        """Ask the last turn of each conversation.

        Args:
            questions: the conversations.
            answered: receives the number of a conversation, 0, and its reply: ``letters``, the
                natural log-probability of each letter; ``top``, the likeliest token as text, and
                ``top_log``, its log-probability. For a question that does not fit into the
                window: ``too_long``, its number of tokens, and ``window``. If log-probabilities are
                not finite, ``letters`` is None.

        Raises:
            CurationError: the chat template cannot be used, or there is not enough memory for one
                text.
        """
        for start in range(0, len(questions), self._part):
            part = questions[start : start + self._part]
            for n, body in enumerate(self._ask(part), start):
                answered(n, 0, body)
            self._pass_on()

    def about(self) -> Fields:
        """What was opened, for ``run.json``; with the tokens that read as each letter."""
        return self._about

    def _ask(self, questions: Sequence[Turns]) -> list[Fields]:
        shown = [self._render(turns) for turns in questions]
        rows = self._tokenizer(shown, **_PLAIN)["input_ids"]
        window = self._runner.loaded.window or 10**9
        reads = [*self._letters[0], *self._letters[1], LIKELIEST, ITS_LOG]
        asked = [
            Text(ids, [(len(ids) - 1, token) for token in reads])
            for ids in rows
            if len(ids) <= window
        ]
        values = iter(self._runner.log_probs(asked))
        return [
            self._body(next(values))
            if len(ids) <= window
            else {"too_long": len(ids), "window": window}
            for ids in rows
        ]

    def _body(self, values: Any) -> Fields:
        """The reply, from the log-probabilities of all letters, and of the likeliest token."""
        if not np.isfinite(values[-1]):
            return {"letters": None}
        size = len(self._letters[0])
        letters = [np.logaddexp.reduce(part) for part in (values[:size], values[size:-2])]
        (top,) = token_texts(self._tokenizer, [int(values[-2])])
        if _THINKS.search(top) and not self._thinks:
            self._thinks = True
            self._advise(f"it begins an answer with «{top.strip()}»")
        return {
            "letters": [max(float(value), _LEAST) for value in letters],
            "top": printable(top),
            "top_log": float(values[-1]),
        }

    def _render(self, turns: Turns) -> str:
        return _render(self._tokenizer, self._template, self._name, turns)

    def _advise(self, why: str) -> None:
        self.notices.append(
            f"{self._name}: {why}, so it does not begin with a letter; ask such a model behind "
            "an endpoint, which waits for its final answer (docs/chat.md)"
        )

    def _pass_on(self) -> None:
        for text in self.notices[self._shown :]:
            self._notice(text)
        self._shown = len(self.notices)


def _template(tokenizer: Any, name: str) -> str:
    """The chat template.

    Raises:
        CurationError: the tokenizer has none, or it leaves out the message.
    """
    try:
        template = str(tokenizer.get_chat_template())
    except ValueError as error:
        if tokenizer.chat_template:
            raise _unusable(name, error) from None
        raise CurationError(
            f"{name}: its tokenizer has no chat template",
            "name an instruction-tuned model; or score the model by its likelihoods, as MODEL "
            "without chat:",
        ) from None
    if "strftime_now" in template:
        template = _SAME_DAY + template
    if "Is it A or B?" not in _render(tokenizer, template, name, ("Is it A or B?",)):
        raise _unusable(name, ValueError("it leaves out the user's message"))
    return template


def _render(tokenizer: Any, template: str, name: str, turns: Turns) -> str:
    """The text of a conversation up to where the model answers."""
    try:
        shown = tokenizer.apply_chat_template(
            messages(turns),
            chat_template=template,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
    except Exception as error:  # a template is a program of its author
        raise _unusable(name, error) from None
    return str(shown)


def _unusable(name: str, error: Exception) -> CurationError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return CurationError(
        f"{name}: its chat template cannot be used: {lines[0] if lines else repr(error)}",
        "correct chat_template.jinja, or the field chat_template of tokenizer_config.json, in the "
        "model's folder",
    )
