"""Which optional packages are installed, for steps whose results depend on them."""

from collections.abc import Mapping
from importlib import metadata, util
from typing import Any

from curation.text.words import base

_MODULES = {"better-profanity": "better_profanity", "Faker": "faker", "mecab-python3": "MeCab"}
_SPLITTERS = {"ja": ("mecab-python3", "ipadic"), "zh": ("jieba",)}


def versions(*packages: str) -> dict[str, str | None]:
    """The versions of packages; None for those that cannot be imported.

    >>> versions("pydantic", "no-such-package")["no-such-package"] is None
    True
    """
    return {name: _version(name) for name in packages}


def _version(package: str) -> str | None:
    try:
        if util.find_spec(_MODULES.get(package, package)) is None:
            return None
        return metadata.version(package)
    except ValueError:  # the import is blocked
        return None
    except metadata.PackageNotFoundError:
        return "unknown"


def splitters(language: str) -> tuple[str, ...]:
    """The packages that wordfreq needs to split texts of a language into words.

    >>> splitters("ja-JP"), splitters("en")
    (('mecab-python3', 'ipadic'), ())
    """
    return _SPLITTERS.get(base(language), ())


def removed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """The packages that a step's last results were made with and that are not installed now.

    Args:
        before: the settings of the last results; versions are under ``versions``.
        now: the settings now.

    Returns:
        The version that was used, by package.

    >>> removed({"versions": "damaged"}, {"versions": {"a": "1"}})
    {}
    >>> removed({"versions": {"a": "1", "b": "2"}}, {"versions": {"a": "1", "b": None}})
    {'b': '2'}
    """
    then, here = before.get("versions"), now.get("versions")
    if not isinstance(then, Mapping) or not isinstance(here, Mapping):
        return {}
    return {
        name: str(version)
        for name, version in then.items()
        if version is not None and name in here and here[name] is None
    }
