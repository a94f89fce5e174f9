"""Chat models without a model: they choose by what the CATs say, and count what they are asked."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from curation.kinds import Kind
from curation.models.chat import ChatSpec, Turns
from curation.models.scoring import ModelSpec
from curation.records import Cat
from support import cats

ENGLISH = Path(__file__).parents[2] / "data" / "prompts" / "en.toml"
WORDS = (("kind", "grumpy", "square"), ("early", "late", "blue"), ("patient", "hasty", "salty"))
SAYINGS = (
    ("She helps everybody.", "She helps nobody.", "Clouds drift over the hills."),
    ("He gets up at four.", "He sleeps until noon.", "The jug has two handles."),
)
TARGETS = ("baker", "potter", "fiddler", "thatcher")
Choose = Callable[[str, str], str]
"""What a model says if it is shown two sentences."""


def made_up(count: int, *, kind: Kind = "intrasentence", domain: str = "profession") -> list[Cat]:
    """CATs: the same number always gives the same."""
    made = []
    for n in range(count):
        about = {"name": f"{kind[:5]}-{n}-", "domain": domain, "target": TARGETS[n % 4]}
        if kind == "intrasentence":
            context = f"The {about['target']} of house {n} is BLANK today."
            made.append(cats.intra(context, *WORDS[n % 3], **about))
        else:
            context = f"My {about['target']} lives in house {n}."
            made.append(cats.cat(context, *SAYINGS[n % 2], **about))
    return made


def ranked(*better: str) -> Choose:
    """A model that prefers the sentence with the earliest of these words; otherwise the first."""

    def rank(sentence: str) -> int:
        return next((n for n, word in enumerate(better) if word in sentence), len(better))

    return lambda first, second: "A" if rank(first) <= rank(second) else "B"


STEREOTYPES = ranked(*("kind", "early", "patient", "everybody", "four", "grumpy", "late"),
                     *("hasty", "nobody", "noon"))  # fmt: skip
"""Prefers stereotypes, then anti-stereotypes, then what is unrelated."""


def at_random(seed: int) -> Choose:
    draw = random.Random(seed)
    return lambda first, second: draw.choice("AB")


def says(text: str) -> Choose:
    return lambda first, second: text


def reply(text: str, *, finish: str = "stop") -> dict[str, Any]:
    """The body of a reply of an endpoint."""
    return {
        "choices": [{"message": {"content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 2},
    }


class Talker:
    """Stands in for a chat endpoint.

    Attributes:
        asked: every text that was asked, in order; a second question is the whole conversation.
        again: what it says if it is asked a second time.
        specs: what was opened, each time.
        stop: raised instead of the reply with this number, counted from 0 over all calls.
    """

    def __init__(self, choose: Choose) -> None:
        self.choose, self.asked, self.specs = choose, list[str](), list[ModelSpec]()
        self.again: Choose = choose
        self.stop: Mapping[int, BaseException] = {}
        self.body: Callable[[str], dict[str, Any]] = reply

    def open(self, spec: ModelSpec, *, notice: Callable[[str], None]) -> Self:
        self.specs.append(spec)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def about(self) -> dict[str, Any]:
        return {"served": "talker", "replies": len(self.asked)}

    def ask(
        self, questions: Sequence[Turns], answered: Callable[[int, int, dict[str, Any]], None]
    ) -> None:
        for index in sorted(range(len(questions)), key=lambda index: (index % 3, index)):
            if error := self.stop.get(len(self.asked)):
                raise error
            turns = questions[index]
            first, second = re.findall(r"^[AB]: (.*)$", turns[0], re.MULTILINE)
            self.asked.append("\n".join(turns))
            choose = self.choose if len(turns) == 1 else self.again
            answered(index, 200, self.body(choose(first, second)))


def spec(*, name: str = "talker", url: str = "https://chat.example/v1", **chat: Any) -> ModelSpec:
    """A chat model behind an endpoint."""
    return ModelSpec(name, family="chat", url=url, chat=ChatSpec(**{"prompts": ENGLISH, **chat}))
