"""Facts about languages: the position of a label's head word, plurals, odd labels."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal

from curation.text.rules import same_text

Head = Literal["last", "first", "none"]
HEADS: dict[str, Head] = {}
HEADS |= dict.fromkeys(("af", "bn", "da", "de", "en", "et", "fi", "gu", "hi", "hu", "is"), "last")
HEADS |= dict.fromkeys(("ja", "kn", "ko", "ml", "mr", "nb", "ne", "nl", "nn", "no", "pa"), "last")
HEADS |= dict.fromkeys(("si", "sv", "ta", "te", "tr", "ur", "zh"), "last")
HEADS |= dict.fromkeys(("ar", "ca", "es", "fr", "gl", "he", "id", "it", "ms", "pt"), "first")
HEADS |= dict.fromkeys(("ro", "sw", "th", "tl", "vi"), "first")
COMPOUNDS = {
    "af",
    "da",
    "de",
    "et",
    "fi",
    "hu",
    "is",
    "ja",
    "nb",
    "nl",
    "nn",
    "no",
    "sv",
    "th",
    "zh",
}
"""Languages that write «film actor» as one word, or have no spaces between words."""

LONGEST = 60  # characters; a longer label is a sentence


def head_of(language: str, setting: str = "auto") -> Head:
    """The position of the head word in a label: the setting, or the default of the language.

    >>> head_of("en-GB"), head_of("id"), head_of("ru"), head_of("ru", "last")
    ('last', 'first', 'none', 'last')
    """
    known = {"last": "last", "first": "first", "none": "none"}.get(setting)
    return known or HEADS.get(language.split("-")[0], "none")  # type: ignore[return-value]


def is_head(parent: str, child: str, *, head: Head, language: str) -> bool:
    """Whether a label is the head of a longer label.

    >>> is_head("producer", "assistant producer", head="last", language="en")
    True
    >>> is_head("aktor", "aktor film", head="first", language="id")
    True
    >>> is_head("Schauspieler", "Filmschauspieler", head="last", language="de")
    True
    >>> is_head("actor", "factor", head="last", language="en")
    False
    """
    above, below = same_text(parent), same_text(child)
    if head == "none" or not above or len(above) >= len(below):
        return False
    words, longer = above.split(), below.split()
    at_edge = longer[-len(words) :] if head == "last" else longer[: len(words)]
    if at_edge == words:
        return True
    fits = below.endswith(above) if head == "last" else below.startswith(above)
    shortest = 4 if above.isascii() or script(above) == "LATIN" else 2
    return fits and language.split("-")[0] in COMPOUNDS and len(above) >= shortest


def plurals(word: str) -> set[str]:
    """The regular plural forms that an English word may have.

    >>> sorted(plurals("gentleman"))
    ['gentlemanes', 'gentlemans', 'gentlemen']
    """
    forms = {word + "s", word + "es"}
    if word.endswith("y"):
        forms.add(word[:-1] + "ies")
    if word.endswith("man"):
        forms.add(word[:-2] + "en")
    return forms


def script(text: str) -> str:
    """The script of most letters of a text, by Unicode's names; empty if there are no letters.

    The three scripts of Japanese count as one.

    >>> script("Bäcker"), script("актёр"), script("パン"), script("12")
    ('LATIN', 'CYRILLIC', 'CJK', '')
    """
    names = Counter(_script(c) for c in text if c.isalpha())
    return names.most_common(1)[0][0] if names else ""


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").replace("-", " ").split()[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


def usual_script(labels: Iterable[str]) -> str:
    """The script of at least four in five labels, or an empty text."""
    scripts = Counter(map(script, labels))
    name, n = scripts.most_common(1)[0] if scripts else ("", 0)
    return name if n >= 0.8 * scripts.total() else ""


def odd(label: str, *, title: str | None, aliases: Collection[str], usual: str = "") -> str | None:
    """Why a label looks vandalised or wrong, or None.

    Args:
        label: the label.
        title: the title of the item's article in the same language.
        aliases: the item's other names in that language.
        usual: the script of the other labels.

    >>> odd("Jajaja", title=None, aliases=[])
    'it repeats itself'
    >>> odd("Relajación", title="Religion", aliases=["faith", "religious belief"])
    'not similar to its article «Religion» or to its aliases'
    >>> odd("baker", title="Baker", aliases=["bread maker"])
    """
    if not any(c.isalpha() for c in label):
        return "it has no letters"
    if len(label) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if "://" in label or any(unicodedata.category(c) in {"Cc", "Cn", "Co", "So"} for c in label):
        return "it contains a web address or a character that is not text"
    if re.search(r"([^\W\d_])\1\1\1", label) or re.fullmatch(r"(\w{2,3})\1\1+", label.casefold()):
        return "it repeats itself"
    if usual and not any(_script(c) == usual for c in label if c.isalpha()):
        return f"the other labels are in {usual.capitalize()} letters"
    # The title alone is not enough: an article often has the name of something related.
    if title and aliases and not any(_akin(label, other) for other in (title, *aliases)):
        return f"not similar to its article «{title}» or to its aliases"
    return None


def _akin(name: str, other: str) -> bool:
    """Whether two names share the beginning of a word; in scripts without spaces, a letter."""
    if script(name) not in {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN"}:
        return bool(set(same_text(name)) & set(same_text(other)) - {" "})
    begins = [{word[:4] for word in re.findall(r"\w+", same_text(text))} for text in (name, other)]
    return bool(begins[0] & begins[1])
