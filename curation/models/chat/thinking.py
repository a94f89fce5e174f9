"""The thinking part of an answer, which never counts."""

import re
from typing import NamedTuple

_NAMES = (
    r"(?:\w{1,20}[:_])?(?:think(?:ing)?|thoughts?|thought_process|reasoning|reason|reflect(?:ion)?"
    r"|analysis|scratch_?pad|inner_monologue|monologue|cot|chain_of_thought|ponder|deliberation)"
)
_OPEN = (
    rf"<{_NAMES}(?:\s[^<>]{{0,80}})?>|\[{_NAMES}\]"
    rf"|<\|(?:begin_of_|start_)?{_NAMES}(?:_start|_begin)?\|>"
)
_CLOSE = rf"</{_NAMES}\s*>|\[/{_NAMES}\]|<\|(?:end_of_|end_|/){_NAMES}\|>|<\|{_NAMES}_end\|>"
TAGS = re.compile(
    rf"(?P<close>{_CLOSE}|◁/{_NAMES}▷|<unused95>)|(?P<open>{_OPEN}|◁{_NAMES}▷|<unused94>)",
    re.IGNORECASE,
)
CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,80}<\|message\|>")
CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")
JOINED = re.compile(r"\s*(?:assistant)?(?:analysis|commentary)(?=[A-Z\"'“(*])")
JOINED_FINAL = re.compile(r"assistant\s*final", re.IGNORECASE)


class Thinking(NamedTuple):
    """Where the thinking of a text is.

    Attributes:
        answer: the part of the text that is the answer.
        thought: there is thinking.
        open: the thinking never ends.
    """

    answer: slice
    thought: bool = False
    open: bool = False


def find_thinking(text: str) -> Thinking:
    """Separate the thinking from the answer. A closing tag without an opening one ends it."""
    if found := _in_channels(text):
        return found
    depth, begin, first = 0, 0, None
    for tag in TAGS.finditer(text):
        first = first or tag
        if tag["open"]:
            depth += 1
        else:
            depth = max(depth - 1, 0)
            begin = tag.end() if depth == 0 else begin
    if first is None:
        return Thinking(slice(0, len(text)))
    if depth == 0 and first["open"] and not text[begin:].strip() and text[: first.start()].strip():
        return Thinking(slice(0, first.start()), True)  # the reasons come after the answer
    return Thinking(slice(begin, len(text)), True, depth > 0)


def _in_channels(text: str) -> Thinking | None:
    """The channels of Harmony, with their special tokens or without."""
    whole = len(text)
    if channels := list(CHANNEL.finditer(text)):
        if finals := [each for each in channels if each[1].lower() in ("final", "response")]:
            return Thinking(slice(finals[-1].end(), whole), len(channels) > len(finals))
        end = CHANNEL_END.search(text, channels[-1].end())
        return Thinking(slice(end.end() if end else whole, whole), True, end is None)
    named = text[:20].lstrip().lower().startswith(("analysis", "assistantanalysis", "commentary"))
    joined = JOINED.match(text)
    if (named or joined) and (final := JOINED_FINAL.search(text)):
        return Thinking(slice(final.end(), whole), True)
    return Thinking(slice(whole, whole), True, True) if joined else None
