"""Ask a model on this machine by its chat template, and read the letters' log-probabilities.

A text is one message of a user. The letters are read where the template asks for an answer, at its
first token. So nothing is sampled: temperature and token limits do not apply.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from curation.files import CurationError, printable
from curation.models.chat.letters import letter_tokens, token_texts
from curation.models.chat.prompts import Prompts
from curation.models.chat.spec import Answered
from curation.models.families import check_causal
from curation.models.forward import ITS_LOG, LIKELIEST, Runner
from curation.models.packing import Text
from curation.models.scoring import ModelSpec, load_model

PART = 256  # texts whose replies come together; a killed run loses at most this many
_GPU_PART = 2048
# Some templates tell the model today's date. The same text must give the same result tomorrow.
_DATE = {
    **{"%d": "01", "%m": "01", "%Y": "2025", "%B": "January", "%b": "Jan", "%A": "Wednesday"},
    **{"%a": "Wed", "%H": "12", "%M": "00", "%S": "00"},
}
_SAME_DAY = "".join(f" | replace('{code}', '{text}')" for code, text in _DATE.items())
_SAME_DAY = f"{{%- macro strftime_now(format) -%}}{{{{ format{_SAME_DAY} }}}}{{%- endmacro -%}}"
_LEAST = -1e4  # JSON has no infinity; a smaller log-probability is 0 in any case
_THINKS = re.compile(r"<\|?[\w ]*(think|reason)[\w ]*\|?>\s*$", re.IGNORECASE)
_PLAIN = {"add_special_tokens": False, "verbose": False}


class LocalChat:
    """An instruction-tuned model that is loaded.

    Attributes:
        notices: messages for the user.
    """

    def __init__(
        self, spec: ModelSpec, prompts: Prompts, *, notice: Callable[[str], None] = lambda _: None
    ) -> None:
        """Load the model, and find the tokens of the letters.

        Args:
            spec: the model.
            prompts: the letters.
            notice: receives the notices as they come.

        Raises:
            CurationError: the model cannot be loaded, is not a causal model, or has no chat
                template that can be used; or a letter is not a token.
        """
        loaded = load_model(spec)
        check_causal(loaded.family, spec.name)
        self._tokenizer, self._name = loaded.tokenizer, loaded.name
        self._template = _template(self._tokenizer, self._name)
        self._letters = letter_tokens(self._tokenizer, prompts, name=self._name)
        self._runner = Runner(loaded, batch_tokens=spec.batch_tokens, plain=spec.plain)
        self._part = PART if loaded.device.type == "cpu" else _GPU_PART
        self._notice, self._shown = notice, 0
        texts = [token_texts(self._tokenizer, tokens) for tokens in self._letters]
        self._about = loaded.about | {"letters": dict(zip(prompts.letters, texts, strict=True))}
        self.notices = loaded.notices
        self._thinks = bool(_THINKS.search(self._render("?")))
        if self._thinks:
            self._advise("its chat template begins every answer with thinking")
        self._pass_on()

    def ask(self, texts: Sequence[str], answered: Answered) -> None:
        """Ask each text in a conversation of its own.

        Args:
            texts: the questions.
            answered: receives the number of a text, 0, and its reply: ``letters``, the natural
                log-probability of each letter; ``top``, the likeliest token as text, and
                ``top_log``, its log-probability. For a question that does not fit into the
                window: ``too_long``, its number of tokens, and ``window``.

        Raises:
            CurationError: the chat template cannot be used, or there is not enough memory for one
                text.
        """
        for start in range(0, len(texts), self._part):
            part = texts[start : start + self._part]
            for n, body in enumerate(self._ask(part), start):
                answered(n, 0, body)
            self._pass_on()

    def about(self) -> dict[str, Any]:
        """What was opened, for ``run.json``; with the tokens that read as each letter."""
        return self._about

    def _ask(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        shown = [self._render(text) for text in texts]
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

    def _body(self, values: Any) -> dict[str, Any]:
        """The reply, from the log-probabilities of all letters, and of the likeliest token."""
        if not np.isfinite(values[-1]):
            return {"not_finite": True}
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

    def _render(self, text: str) -> str:
        return _render(self._tokenizer, self._template, self._name, text)

    def _advise(self, why: str) -> None:
        self.notices.append(
            f"{self._name}: {why}, so it names no letter at once; such a model can be asked behind "
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
    if "Is it A or B?" not in _render(tokenizer, template, name, "Is it A or B?"):
        raise _unusable(name, ValueError("it leaves out the user's message"))
    return template


def _render(tokenizer: Any, template: str, name: str, text: str) -> str:
    """The text of a conversation up to where the model answers."""
    try:
        shown = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
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
