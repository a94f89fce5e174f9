"""Addresses, and texts that have some, without their secrets."""

import base64
import re

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
