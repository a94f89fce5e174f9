"""How messages show things: counts with nouns, money, the first of many texts, texts of strangers.

Addresses are shown without their secrets, and control characters as escapes.
"""

import base64
import difflib
import re
from collections.abc import Iterable
from decimal import Decimal

CENTS = Decimal("0.01")


def amount(n: int, noun: str, plural: str = "") -> str:
    """A count with its noun in the singular or plural.

    Args:
        n: the count; it is shown with commas between thousands.
        noun: the noun in the singular; words before it stay as they are.
        plural: the plural, if it does not end in s, es or ies.

    >>> amount(1, "item"), amount(2, "more answer"), amount(1200, "query")
    ('1 item', '2 more answers', '1,200 queries')
    >>> amount(0, "batch"), amount(2, "person", "people")
    ('0 batches', '2 people')
    """
    if n == 1:
        return f"1 {noun}"
    if not plural and noun.endswith("y") and noun[-2:-1] not in "aeiou":
        plural = f"{noun[:-1]}ies"
    elif not plural:
        plural = noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
    return f"{n:,} {plural}"


def in_words(n: int) -> str:
    """A small number in words; 10 and above in digits.

    >>> in_words(3), in_words(12)
    ('three', '12')
    """
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return words[n] if n < len(words) else str(n)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A fix that names what a name is like; ``otherwise`` if it is like nothing known.

    >>> did_you_mean("wehn", ["when", "who"], "see the docs")
    "did you mean 'when'?"
    """
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def some(texts: Iterable[str], most: int) -> str:
    """The first of some texts, and how many more there are.

    >>> some(["a", "b", "c"], 2), some(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    every = list(texts)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")


DIRECTIONS = {
    "\u202a": "U+202A (left-to-right embedding)",
    "\u202b": "U+202B (right-to-left embedding)",
    "\u202c": "U+202C (pop directional formatting)",
    "\u202d": "U+202D (left-to-right override)",
    "\u202e": "U+202E (right-to-left override)",
    "\u2066": "U+2066 (left-to-right isolate)",
    "\u2067": "U+2067 (right-to-left isolate)",
    "\u2068": "U+2068 (first strong isolate)",
    "\u2069": "U+2069 (pop directional isolate)",
}
"""Characters that change the writing direction of the text after them."""
# What a terminal obeys instead of showing it, apart from tabs and the ends of lines.
_OBEYED = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{''.join(DIRECTIONS)}]")


def inert(text: str) -> str:
    r"""A text whose control characters are shown as escapes: annotators may send any text.

    >>> inert("a \x1b[2J baker")
    'a \\x1b[2J baker'
    """
    return _OBEYED.sub(lambda match: ascii(match[0])[1:-1], text)


# --- addresses without their secrets ------------------------------------------------------------


HIDDEN = "…"
_NAMED = re.compile(r"(?<=://)[^\s/?#]*@")
# A password with a slash or a space: the part before it looks like a host with a strange port.
_BROKEN = re.compile(
    r"(?<=://)[^\s/?#:@\[\]]*:(?!\d*(?:[\s/?#'\"»,:;)]|$))(?:[^@\n]{0,99}@|[^\s/?#]*)"
)
_VALUE = re.compile(  # without the punctuation of the sentence behind it
    r"(?<=\S)((?:\?|&(?:amp;)?)[\w.~%\[\]-]+=)[^\s&#\"'<>»]+?(?=[:,;.)]{0,3}(?:[\s&#\"'<>»]|$))"
)
_BARE = re.compile(r"(://[^\s?#\"'<>»]*\?)[^\s=&;#\"'<>»…]+(?=[\s#\"'<>»]|$)")
_FRAGMENT = re.compile(r"(://[^\s#\"'<>»]*#)[^\s\"'<>»]*=[^\s\"'<>»]*")


def hide_secrets(text: str, *secrets: str) -> str:
    """A text whose addresses have no user information, no values in the query and no keys.

    Args:
        text: an address, or any text that may contain some.
        secrets: passwords and keys that are hidden wherever they occur.

    >>> hide_secrets("no answer from https://ann:pass@example.org/api?key=abc&page=2")
    'no answer from https://example.org/api?key=…&page=…'
    >>> hide_secrets("https://example.org?key=abc: no answer")
    'https://example.org?key=…: no answer'
    >>> hide_secrets("redirected to /login?token=abc#top")
    'redirected to /login?token=…#top'
    >>> hide_secrets("https://ann:pa/ss@example.org: no answer"), hide_secrets("http://[::1]:80/a")
    ('https://example.org: no answer', 'http://[::1]:80/a')
    >>> hide_secrets("the key k-1 is wrong", "k-1")
    'the key … is wrong'
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    if "://" in text:
        text = _BROKEN.sub("", _NAMED.sub("", text))
        text = _FRAGMENT.sub(rf"\g<1>{HIDDEN}", _BARE.sub(rf"\g<1>{HIDDEN}", text))
    return _VALUE.sub(rf"\g<1>{HIDDEN}", text) if "=" in text else text


def show_address(address: str) -> str:
    """An address as a message shows it, even if it is not a valid one.

    >>> show_address("ann:pass@example.org"), show_address("https://ann:p@ss@example.org?key=abc")
    ('example.org', 'https://example.org?key=…')
    """
    return hide_secrets(address if "://" in address else address.rpartition("@")[2])


def has_secrets(address: str) -> bool:
    """Whether an address has a part that can hold a secret: user information, query, fragment.

    >>> has_secrets("https://example.org:8080/api"), has_secrets("https://ann:pass@example.org")
    (False, True)
    """
    return bool(re.search("[@?#]", address))


def login_secrets(name: str, password: str) -> tuple[str, ...]:
    """The forms in which a server may repeat a password: as it is, and as the header sends it."""
    if not password:
        return ()
    return password, base64.b64encode(f"{name}:{password}".encode()).decode()


def earned(pay: float, answers: int) -> Decimal:
    """The pay for some answers, exact: the pay of one answer is the decimal that was written.

    >>> str(earned(0.1, 3)), str(earned(1e-05, 2))
    ('0.3', '0.00002')
    """
    return Decimal(format(Decimal(repr(float(pay))), "f")) * answers


def money(sum_: Decimal) -> str:
    """An amount of money, with at least two decimals and no more than it needs.

    >>> money(Decimal("1.2")), money(Decimal("0.3750")), money(Decimal("1E+3"))
    ('1.20', '0.375', '1000.00')
    """
    rounded = sum_.quantize(CENTS) if sum_ == round(sum_, 2) else sum_.normalize()
    return format(rounded, "f")
