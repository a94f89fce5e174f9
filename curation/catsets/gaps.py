"""Gaps of contexts that are not written BLANK, as many published files have them."""

import json
import re
from typing import Any

from curation.blank import BLANK
from curation.catsets.entries import sentences_of
from curation.item_form import filler

_FORMS = (
    r"[_*＿]+BLANK[_*＿]+|[(（]\s*(?i:blank|mask|gap)\s*[)）]",
    r"[\[<{［＜｛【]+[\s|/]*(?i:(?:\w+_)?(?:blank|mask|gap)(?:[\s_-]*\d+)?|m)[\s|/]*[\]>}］＞｝】]+",
    r"<extra_id_\d+>|@placeholder",  # of T5; of ReCoRD
    r"[(（]\s+[)）]|\[\s*\]|\{\s*\d?\s*\}",
    r"[_＿]{3,}|(?<!\S)_{1,2}(?:\s_{1,2})*(?!\w)",
)
"""What marks a gap and is never ordinary text; «…» and «[...]» also mark words left out."""
_GAP = re.compile("|".join(_FORMS))
_SIGN = re.compile(r"[A-Z]{2,}\W*|[^\w\s]+")


def gap_in(context: Any) -> str:
    """The form of a context's gap if it is not BLANK alone; empty if there is none.

    >>> gap_in("The ____ baker."), gap_in("A <mask> baker."), gap_in("The [BLANK] baker.")
    ('____', '<mask>', '[BLANK]')
    >>> gap_in("The BLANK baker wrote ____."), gap_in("Her snake_case [sic] …"), gap_in("«BLANK»")
    ('', '', '')
    """
    forms = [match[0] for match in _GAP.finditer(str(context))]
    return next((form for form in forms if BLANK in form or BLANK not in str(context)), "")


def with_blank(context: str, *forms: str) -> str:
    """A context with BLANK for each gap; a form of one sign, such as ___, is also a longer one.

    >>> with_blank("The ____ baker.", "___"), with_blank("The [MASK] baker.", "___", "[MASK]")
    ('The BLANK baker.', 'The BLANK baker.')
    """
    for form in sorted(forms, key=len, reverse=True):
        more = re.escape(form[0]) + "*" if len(set(form)) == 1 else ""
        context = re.sub(re.escape(form) + more, BLANK, context)
    return context


def gap_of(item: dict[str, Any]) -> str:
    """The gap of an item's context that is not BLANK alone: as ``gap_in``, or a word of its own.

    A word in capitals or without letters, such as GAP or «...», is the gap if every sentence
    repeats the context with other words in its place.
    """
    context = str(item.get("context"))
    texts = [str(sentence.get("sentence")) for sentence in sentences_of(item)]
    words = context.split()
    if BLANK in context or gap_in(context) or not texts or len(words) < 3:
        return gap_in(context)
    for at, word in enumerate(words):
        with_gap = " ".join([*words[:at], BLANK, *words[at + 1 :]])
        if _SIGN.fullmatch(word) and all(filler(with_gap, text) is not None for text in texts):
            return word.strip(".,;:!?。、") or word
    return ""


def undeclared_gap(kind: str, item: dict[str, Any]) -> str:
    """The gap of an intrasentence item that is not BLANK, or that BLANK is only a part of.

    A form that a sentence repeats belongs to the text.
    """
    context = str(item.get("context"))
    texts = [str(sentence.get("sentence")) for sentence in sentences_of(item)]
    repeated = any(filler(context, text) is not None for text in texts)
    return "" if kind == "intersentence" or repeated else gap_of(item)


def declared(form: str) -> str:
    """What to do about a gap that is not BLANK."""
    line = f"blank = {json.dumps(form, ensure_ascii=False)}"
    return f'write a mapping file with {line}, or kind = "intersentence" if this is ordinary text'
