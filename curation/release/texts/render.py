"""The texts of a release, from the templates in ``data/release/templates`` and ``data/people``.

A template has all sentences. The code passes it records and computed values. A template cannot
print a foreign text as markup by mistake: every text is escaped, unless a template or a filter made
it. A whole number gets commas; any other number needs a filter, and None is an error.
"""

import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from curation.files import CurationError, shipped
from curation.formats.markdown import inline, paragraphs
from curation.kinds import CAT_KINDS
from curation.reasons import REASONS
from curation.release.texts.questions import BY_KEY
from curation.text.wording import amount, some

_PROTECTED = {ord("\n"): "\x1f", ord("["): "\x1e"}  # stand for these marks in foreign plain texts
_MARKS = {ord(sign): chr(mark) for mark, sign in _PROTECTED.items()}
_HEADING = re.compile(r"^(\[\[?)(\w+)\]\]?$", re.MULTILINE)


def markdown(template: str, /, **values: Any) -> str:
    """A text in Markdown, such as a README.

    Args:
        template: its file without ``.jinja``.
        values: what the template may print.

    Raises:
        CurationError: the template has an error; the message names file and line.
    """
    text = _rendered(_MARKDOWN, template, values)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def fields(template: str, /, **values: Any) -> dict[str, str | list[str]]:
    """Plain texts by name, without those that are empty.

    The template begins each with a line ``[name]``, or ``[[name]]`` for a list. The lines of a text
    are joined with spaces; each line of a list is one entry. Line breaks in foreign texts stay.

    Args:
        template: its file without ``.jinja``.
        values: what the template may print.

    Raises:
        CurationError: the template has an error; the message names file and line.
    """
    _, *parts = _HEADING.split(_rendered(_PLAIN, template, values))
    made: dict[str, str | list[str]] = {}
    for bracket, field, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        lines = [line.translate(_MARKS) for line in text.split("\n") if line.strip()]
        if lines:
            made[field] = lines if bracket == "[[" else " ".join(lines)
    return made


def _rendered(environment: Environment, template: str, values: dict[str, Any]) -> str:
    try:
        return environment.get_template(f"{template}.jinja").render(values)
    except TemplateError as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{f.filename} line {f.lineno}" for f in frames if f.filename.endswith(".jinja")]
        where = places[-1] if places else f"{template}.jinja"
        raise CurationError(f"{where}: {error}", "correct the template") from error


# --- filters --------------------------------------------------------------------------------


def number(value: float | None, digits: int = 1) -> str:
    """A value as texts show it; a dash if there is none.

    >>> number(66.666), number(0.4651, 2), number(None)
    ('66.7', '0.47', '–')
    """
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """A value in per cent; a dash if there is none."""
    return number(value) + ("" if value is None else " %")


def rate(value: float | None) -> str:
    """A share from 0 to 1 in per cent; one that is not zero is never shown as zero.

    >>> rate(0.0001), rate(0.25), rate(None)
    ('< 0.1 %', '25.0 %', '–')
    """
    if value is not None and 0 < value < 0.0005:
        return "< 0.1 %"
    return percent(value if value is None else 100 * value)


def share(value: float) -> str:
    """A share from 0 to 1 in per cent, with the digits that it has.

    >>> share(0.25), share(0.375)
    ('25 %', '37.5 %')
    """
    return f"{100 * value:g} %"


def short(value: float | None) -> str:
    """A value with at most three decimals.

    >>> short(0.25), short(3.0), short(None)
    ('0.25', '3', '–')
    """
    return number(value, 3).rstrip("0").rstrip(".")


def money(value: float) -> str:
    """An amount with at least two decimals.

    >>> money(0.5), money(0.355)
    ('0.50', '0.355')
    """
    return re.sub("0{1,2}$", "", f"{value:,.4f}")


def bare(text: str) -> str:
    """A text for code: only its ASCII letters, digits, hyphens, underscores, dots and slashes."""
    return re.sub(r"[^A-Za-z0-9_./-]", "", text)


def code(text: str) -> str:
    """A text as a code span in Markdown.

    >>> code("no_votes`<b>")
    '`no_votesb`'
    """
    return f"`{bare(text)}`"


def in_words(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> in_words(["lms", "ss", "icat"]), in_words(["ss"])
    ('lms, ss and icat', 'ss')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def in_one_line(text: str) -> str:
    """A text of several lines, which a template made, as one line."""
    return " ".join(text.split())


# --- environments ---------------------------------------------------------------------------


def _markup(text: str) -> Markup:
    """A text that is printed as it is, because it is escaped or has nothing to escape."""
    return Markup(text)  # noqa: S704


def _environment(escape: Callable[[str], str]) -> Environment:
    """An environment whose templates print every text as ``escape`` shows it."""

    def shown(value: Any) -> Any:
        if isinstance(value, Markup | StrictUndefined):  # the second is an error of its own
            return value
        if isinstance(value, str):
            return _markup(escape(value))
        if type(value) is int:
            return _markup(f"{value:,}")
        raise TemplateError(f"{value!r} needs a filter such as «number»")

    def as_it_is(function: Callable[..., str]) -> Callable[..., Markup]:
        return lambda *given: _markup(function(*given))

    made = Environment(
        loader=FileSystemLoader(
            [shipped("data", "release", "templates"), shipped("data", "people")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    made.globals |= {"questions": BY_KEY, "reasons": REASONS, "all_kinds": CAT_KINDS}
    made.filters |= {"amount": amount, "some": some}
    made.filters |= {each.__name__: as_it_is(each) for each in _AS_THEY_ARE}
    made.filters["paragraphs"] = as_it_is(lambda text: "\n".join(paragraphs(text)))
    return made


_AS_THEY_ARE = (number, percent, rate, share, short, money, bare, code, in_words, in_one_line)
_MARKDOWN = _environment(inline)
_PLAIN = _environment(lambda text: text.translate(_PROTECTED))
