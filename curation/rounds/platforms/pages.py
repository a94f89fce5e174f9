"""What annotators see: texts in their language, forms, instructions, and the data of tasks.

Every string that people read is in ``annotation_configs/text/<language>.toml``; a campaign can
change single strings in a file of its own. The forms in ``annotation_configs/label_studio`` are
templates that have no words, only the names of texts: ``{{ section.key }}``.

A training set is a table of examples with the right answer and a reason, which people try before
their tasks. ``data/training/<language>.csv`` has the shipped ones; a campaign can have its own in
``2-rounds/training.csv``, which then replaces the shipped one as a whole.
"""

import difflib
import hashlib
import html
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from curation.files import CurationError, read_text, shipped
from curation.formats.table_words import (
    FIRST,
    FORM,
    OTHER,
    PROMPTS,
    Space,
    blank_word,
    nearest,
    read_shipped,
    shipped_words,
)
from curation.formats.table_words import Sections as Texts
from curation.formats.tables import list_columns, read_csv, restore_cell
from curation.formats.toml_files import read_toml
from curation.kinds import NUMBERS, ROUND_KINDS, ROUNDS, VALIDATION, RoundKindName, Work
from curation.records import Task
from curation.text.item_form import BLANK, filler, show_blank
from curation.text.wording import some

if TYPE_CHECKING:
    from jinja2 import Environment

NAMED = 20  # keys that an error names
SHORTEST = 3  # letters of a word for the gap
PAY_FACTS = ("amount", "currency")
STUDY = "study"  # the section of facts about the study
TYPING = "typing"  # the line of the consent on counts, and the place for it among its lines
_DIGITS = 6  # hexadecimal digits of a consent text's digest
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")  # what XML cannot hold
_FACT = re.compile(r"\{(\w*)\}")
_MARKS = ((re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"), (re.compile(r"\*(.+?)\*"), r"<i>\1</i>"))


# --- the texts ------------------------------------------------------------------------------


class Own(NamedTuple):
    """A campaign's own texts, by section and key, and the path of their file."""

    path: Path
    texts: Texts


def texts(
    language: str,
    own: Own | None,
    *,
    study: Mapping[str, str] | None = None,
    pay: tuple[str, str] = ("", ""),
    typing: bool = False,
    english: bool = False,
) -> Texts:
    """All texts that people read, in one language, with the facts of the study filled in.

    The texts of tables (``table_words``) are among them. They are English if they are not shipped
    in this language.

    Args:
        language: the campaign's language code; ``en-GB`` uses ``en`` if it has no file.
        own: the campaign's own texts, which replace shipped texts key by key; None for none.
        study: facts from the settings for ``[study]``; the campaign's own file overrides them.
        pay: the amount for one task, and its currency; an empty amount if people are not paid.
        typing: whether the consent says that it is counted how texts come about.
        english: have English where a text lacks, to look at pages that are not finished.

    Returns:
        Texts by section and key. A line that names an unknown fact, or the amount if there is none,
        is left out.

    Raises:
        CurationError: there are no texts in this language, or some are missing; a key is unknown,
            empty or of the wrong type; or a placeholder is unknown.
    """
    known, base = read_shipped("text", FIRST), nearest(language)
    tables = read_shipped("tables", base or FIRST)
    path, mine = own or Own(Path("2-rounds/text.toml"), {})
    begin = f"«curation rounds texts {language}» writes {path}, with the English text of each key"
    if english:
        empty, base = {*_empty(mine, whole=base is None)}, base or FIRST
        mine = {
            section: {key: text for key, text in keys.items() if f"{section}.{key}" not in empty}
            for section, keys in mine.items()
        }
    if base is None and not mine.keys() - {STUDY}:
        raise CurationError(f"no texts in the language {language!r} are shipped", begin)
    _check_empty(mine, str(path), whole=base is None)
    given = read_shipped("text", base) if base else {}
    merged = {section: {**given.get(section, {}), **mine.get(section, {})} for section in known}
    missing = [f"{s}.{key}" for s, keys in known.items() for key in keys if key not in merged[s]]
    if missing:
        raise CurationError(
            f"{path}: no {some(missing, NAMED)}",
            f"add them; «curation rounds texts {language} --to FILE» writes all keys with the "
            "English text of each",
        )
    where = str(path if mine else f"the shipped texts in {base}")
    if merged["page"]["direction"] not in ("ltr", "rtl"):
        raise CurationError(
            f"{where}, page.direction: it is neither ltr nor rtl", 'write "ltr" or "rtl"'
        )
    _check_blank(merged["writing"]["blank"], where)
    for key, value in (study or {}).items():
        if value and not mine.get("study", {}).get(key):
            merged["study"][key] = value
    own_tables = {section: {**tables[section], **mine.get(section, {})} for section in tables}
    facts = {**merged["study"], **dict(zip(PAY_FACTS, pay, strict=True))}
    facts |= {"blank": merged["writing"]["blank"]}
    facts |= {TYPING: merged["consent"][TYPING] if typing else ""}
    return _filled(merged | own_tables, facts, where)


def unread(language: str, texts: Texts) -> str:
    """The shipped language of some texts that no native speaker has read; empty if one has."""
    base = nearest(language)
    return base if base and base != FIRST and not texts["page"]["read_by"].strip() else ""


class Lacking(NamedTuple):
    """The texts that a team has still to write.

    Attributes:
        left: their sections and keys.
        of: how many the team has to write in all; 0 if they are shipped.
        begun: whether the team's own file has more than the facts of the study.
    """

    left: list[str]
    of: int
    begun: bool


def lacking(language: str, own: Own) -> Lacking:
    """Which texts a campaign's language still lacks.

    Args:
        language: the campaign's language code.
        own: the campaign's own texts.
    """
    whole, mine = nearest(language) is None, own.texts
    known = read_shipped("text", FIRST) if whole else {}
    needed = {
        f"{section}.{key}": key in mine.get(section, {})
        for section, keys in {**mine, **known}.items()
        for key in keys
        if section != STUDY and key != "read_by" and not section.endswith("_words")
    }
    left = [*(n for n, is_there in needed.items() if not is_there), *_empty(mine, whole=whole)]
    return Lacking(left, len({*needed, *left}) if whole else 0, bool(mine.keys() - {STUDY}))


def read_own(language: str, path: Path) -> Own:
    """A campaign's own texts; none without its file.

    Raises:
        CurationError: they are damaged, or have a key that is not known.
    """
    known = read_shipped("text", FIRST) | read_shipped("tables", nearest(language) or FIRST)
    return Own(path, _own(path, known) if path.exists() else {})


def _empty(mine: Texts, *, whole: bool) -> list[str]:
    """The texts of a campaign's own file that are empty.

    ``whole`` is true if no texts are shipped in its language, so that none can be left out.
    """

    def is_empty(section: str, text: str | list[str]) -> bool:
        if text == []:  # leaves lines out, but for lists of words that are read
            return whole and not section.endswith("_words")
        return not all(part.strip() for part in _lines(text))

    return [
        f"{section}.{key}"
        for section, keys in mine.items()
        for key, text in keys.items()
        if section != STUDY and key != "read_by" and is_empty(section, text)
    ]


def _check_empty(mine: Texts, where: str, *, whole: bool) -> None:
    """Check that no text of a campaign's own file is empty; ``whole`` as for ``_empty``."""
    if empty := _empty(mine, whole=whole):
        fix = "write each text" if whole else "write a text, or leave the key out"
        are = "it is" if len(empty) == 1 else "they are"
        raise CurationError(f"{where}, {some(empty, NAMED)}: {are} empty", fix)


def _check_blank(word: str, where: str) -> None:
    """Check that the word for the gap is not a word that sentences have."""
    is_word = word.isalpha() and (not word.isupper() or len(word) < SHORTEST)
    if is_word or any(map(str.isspace, word)):
        raise CurationError(
            f"{where}, writing.blank: {word!r} may be an ordinary word of a sentence",
            "write one word in capital letters or in brackets, such as [gap]",
        )


def release_warning(language: str, own: Own) -> str:
    """The content warning of a release: the campaign's own, else the shipped one, else English.

    Args:
        language: the campaign's language code.
        own: the campaign's own texts.
    """
    known, base = read_shipped("text", FIRST), nearest(language)
    texts = read_shipped("text", base) if base else known
    warning = own.texts.get("content_warning", {}).get("release")
    return str(warning or texts["content_warning"]["release"])


def missing_facts(texts: Texts) -> list[str]:
    """Keys of ``[study]`` that nobody has filled in, in their order."""
    return [key for key, value in texts["study"].items() if not value.strip()]


def _own(path: Path, known: Texts) -> Texts:
    """A campaign's own texts, each checked against the shipped text with the same key."""
    mine = read_toml(path, fix="see the shipped file for an example")
    mine.pop(PROMPTS, None)  # those of chat models are read elsewhere
    for section, keys in mine.items():
        if section not in known:
            raise CurationError(f"{path}, {section}: no such section", _near(section, known))
        if not isinstance(keys, dict):
            raise CurationError(
                f"{path}, {section}: it is not a section", f"write [{section}] above it"
            )
        for key, value in keys.items():
            if key not in known[section]:
                fix = _near(key, known[section])
                raise CurationError(f"{path}, {section}.{key}: no such text", fix)
            lines = isinstance(known[section][key], list)
            parts = _lines(value)
            if isinstance(value, list) is not lines or not all(isinstance(p, str) for p in parts):
                form = '["one line", "another"]' if lines else '"text"'
                raise CurationError(f"{path}, {section}.{key}: wrong type", f"write {form}")
            if any(_CONTROL.search(part) for part in parts):
                fix = "remove it; write \\n for a line break"
                raise CurationError(f"{path}, {section}.{key}: it has a control character", fix)
    return mine


def _lines(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _near(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(known)}"


def _filled(merged: Texts, facts: Mapping[str, str], where: str) -> Texts:
    def fill(name: str, text: str) -> str:
        for fact in _FACT.findall(text):
            if fact not in facts:
                raise CurationError(
                    f"{where}, {name}: there is no fact {{{fact}}}", _near(fact, facts)
                )
        return _FACT.sub(lambda match: str(facts[match[1]]), text)

    def is_known(line: str) -> bool:
        return all(facts.get(fact, "?").strip() for fact in _FACT.findall(line))

    def fill_lines(name: str, value: str | list[str]) -> str | list[str]:
        if isinstance(value, str):
            return fill(name, value)
        return [fill(name, line) for line in value if is_known(line)]

    return {
        section: keys
        if section == "study"
        else {key: fill_lines(f"{section}.{key}", value) for key, value in keys.items()}
        for section, keys in merged.items()
    }


# --- consent --------------------------------------------------------------------------------


def says_typing(texts: Texts) -> bool:
    """Whether people agree that it is counted how their texts come about.

    Without it nothing is counted: so in rounds whose own consent text has no line ``{typing}``.
    """
    return texts["consent"].get(TYPING) in texts["consent"]["lines"]


def consent_text(texts: Texts) -> str:
    """The consent text in Markdown. It is kept with a round, to show what people agreed to."""
    consent = texts["consent"]
    parts = [f"## {consent['title']}", *consent["lines"], f"[ ] {consent['box']}", ""]
    return "\n\n".join(parts)


def consent_version(texts: Texts) -> str:
    """The consent text's version: the team's version, and a digest of the text.

    So an answer always names the exact text that was agreed to, even if nobody raised the version.
    """
    digest = hashlib.sha256(consent_text(texts).encode()).hexdigest()[:_DIGITS]
    return f"{texts['consent']['version']}-{digest}"


# --- forms and instructions -----------------------------------------------------------------


def config(kind: RoundKindName, texts: Texts, *, shown: int = len(NUMBERS)) -> str:
    """Label Studio's labeling config of a round, with all texts filled in.

    Args:
        kind: the kind of the round.
        texts: its texts.
        shown: how many texts its tasks show, if they show any.
    """
    lines = [
        f"**{heading}**\n\n{body}" if heading else body for heading, body in _panel(kind, texts)
    ]
    own = ROUNDS[kind]
    lines += [texts["writing"]["unsent"]] if own.writes else []  # Label Studio keeps no draft
    made = {
        "instruction": "\n\n".join(lines),
        "consent": "\n\n".join(texts["consent"]["lines"]),
        "version": consent_version(texts),
        "gapless": Markup(_gapless(blank_word(texts))),  # noqa: S704
        "warning": texts["content_warning"][own.work],
        "numbers": NUMBERS[:shown],
    }
    form = _forms().get_template(f"{own.form}.xml")
    return form.render(**texts, made=made, own=texts[kind], kind=own, names=FORM)


@cache
def _forms() -> "Environment":
    """The forms of Label Studio; each text becomes the value of an attribute."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def attribute(text: object) -> Markup:
        return text if isinstance(text, Markup) else _attribute(str(text))

    return Environment(
        loader=FileSystemLoader(shipped("annotation_configs", "label_studio")),
        autoescape=True,
        finalize=attribute,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _gapless(word: str) -> str:
    """The end of a CSS selector: it leaves fields whose text has no gap."""
    gaps = dict.fromkeys((BLANK, word, unicodedata.normalize("NFKC", word)))
    escaped = ("".join(f"\\{ord(char):x} " for char in gap) for gap in gaps)
    return "".join(f':not([value*="{gap}"])' for gap in escaped)


def _attribute(text: str) -> Markup:
    """A text as an XML attribute's value.

    Label Studio reads a dollar sign and the word after it as a field of the task's data, and shows
    « undefined ». An invisible joiner between them prevents this.
    """
    line = html.escape(apart(text), quote=False).replace('"', "&quot;").replace("\n", "&#10;")
    return Markup(line)  # noqa: S704


def apart(text: str) -> str:
    """A text with an invisible joiner after each dollar sign, for Label Studio."""
    return text.replace("$", "$\u2060")


def content_warning(kind: RoundKindName, texts: Texts) -> str:
    """What people are warned of; who writes neutral texts reads stereotypes, and writes none."""
    own = ROUNDS[kind]
    return str(texts["content_warning"]["label" if own.shows_items else own.work])


def instruction(kind: RoundKindName, texts: Texts) -> str:
    """The instructions that people read first, as plain HTML: the task, its rules, consent."""
    warning = content_warning(kind, texts)
    consent = texts["consent"]
    shown = [_html("", [warning]), *(_html(head, lines) for head, lines in parts(kind, texts))]
    shown.append(_html(consent["title"], consent["lines"]))
    return f'<div dir="{texts["page"]["direction"]}">\n' + "\n".join(shown) + "\n</div>\n"


def page(
    kind: RoundKindName,
    texts: Texts,
    *,
    language: str,
    columns: Sequence[Sequence[str]] = (),
    fill: bool = False,
) -> str:
    """The instructions as a file of its own, which names its encoding and its language.

    Args:
        kind: the kind of the round.
        texts: its texts, with those of tables.
        language: the language code of the texts.
        columns: the columns of the table that goes with it, as rows of cells after a header.
        fill: whether that table is a workbook; the page then says how to fill it in.
    """
    head = f"<title>{html.escape(texts['instruction']['panel'])}</title>"
    return (
        f'<!DOCTYPE html>\n<html lang="{html.escape(language)}">\n<meta charset="utf-8">\n{head}\n'
        f"{instruction(kind, texts)}{_columns(texts, columns, fill=fill)}</html>\n"
    )


def preview(kind: RoundKindName, texts: Texts, *, language: str) -> str:
    """The instructions for the team, and below them every text of forms and pages by its key."""
    own = {*ROUND_KINDS} - {kind}
    names = [name for name in texts if name not in own and name not in ("page", STUDY)]
    rows = [
        f"<tr><td>{name}.{key}</td><td>{html.escape(str(line), quote=False)}</td></tr>\n"
        for name in names[: names.index("web") + 1]  # what comes after it is of tables
        for key, lines in texts[name].items()
        for line in _lines(lines)
    ]
    start, end = page(kind, texts, language=language).rsplit("</html>", 1)
    head = '<h2 lang="en">All texts of forms and pages, with buttons and messages</h2>\n'
    return f'{start}{head}<table border="1">\n{"".join(rows)}</table>\n</html>{end}'


def plain_parts(kind: RoundKindName, texts: Texts) -> list[tuple[str, list[str]]]:
    """The instructions without marks: headings, and the lines under each; consent is the last."""
    consent = texts["consent"]
    (_, intro), *others = parts(kind, texts)
    warned = ("", [content_warning(kind, texts), *intro])
    plain = [warned, *others, (consent["title"], consent["lines"])]
    return [(heading, [unmarked(line) for line in lines]) for heading, lines in plain]


def unmarked(line: str) -> str:
    """A line of a text without its marks for bold and italics."""
    for mark, _ in _MARKS:
        line = mark.sub(r"\1", line)
    return line


def how_to_fill(texts: Texts) -> tuple[str, list[str]]:
    """How to fill in a workbook, without marks: the heading, and the lines under it."""
    sheet = texts["sheet"]
    return sheet["how_title"], [unmarked(line) for line in sheet["how"]]


def _columns(texts: Texts, columns: Sequence[Sequence[str]], *, fill: bool) -> str:
    """How to fill a table in, and its columns, as HTML; the first row is the header."""
    if not columns:
        return ""
    lines = []
    for number, cells in enumerate(columns):
        tag = "td" if number else "th"
        shown = (html.escape(cell, quote=False).replace("\n", "<br>") for cell in cells)
        lines.append("<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>\n")
    sheet = texts["sheet"]
    title = html.escape(sheet["columns_title"], quote=False)
    how = _html(sheet["how_title"], sheet["how"]) + "\n" if fill else ""
    direction = texts["page"]["direction"]
    return (
        f'<div dir="{direction}">\n{how}<h4>{title}</h4>\n<table border="1">\n'
        + "".join(lines)
        + "</table>\n</div>\n"
    )


def _panel(kind: RoundKindName, texts: Texts) -> Iterator[tuple[str, str]]:
    for heading, lines in parts(kind, texts):
        yield heading, "\n".join(f"- {line}" for line in lines) if heading else "\n\n".join(lines)


def parts(kind: RoundKindName, texts: Texts) -> list[tuple[str, list[str]]]:
    """An instruction's headings, and the lines under each; the first has no heading."""
    own, heads = texts[kind], texts["instruction"]
    shared = texts["writing"]["rules"] if ROUNDS[kind].writes else []
    headed = [
        ("", [*own["intro"], heads["purpose"]]),
        (heads["labels_title"], own.get("labels", [])),
        (heads["rules_title"], [*shared, *own["rules"]]),
        (heads["examples_title"], own["examples"]),
        (heads["pay_title"], heads["pay"]),
        (heads["upset_title"], texts["content_warning"]["upset"]),
    ]
    return [(heading, lines) for heading, lines in headed if lines]


def marked(line: str) -> str:
    """A line of a text as HTML: ``**`` and ``*`` make bold and italics.

    >>> marked("**Keep** it & *go on*.")
    '<b>Keep</b> it &amp; <i>go on</i>.'
    """
    line = html.escape(line, quote=False)
    for mark, tag in _MARKS:
        line = mark.sub(tag, line)
    return line


def _html(heading: str, lines: Sequence[str]) -> str:
    if not heading:
        return "\n".join(f"<p>{marked(line)}</p>" for line in lines)
    items = "\n".join(f"<li>{marked(line)}</li>" for line in lines)
    return f"<h4>{html.escape(heading, quote=False)}</h4>\n<ul>\n{items}\n</ul>"


# --- a task's data --------------------------------------------------------------------------


def task_data(
    task: Task,
    kind: RoundKindName,
    *,
    texts: Texts,
    info: str = "",
    choices: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """The data of a task that leaves the campaign. Everybody who answers can read all of it.

    The writer, what the writer meant, gold labels, the item's id and the associations' own ids do
    not leave the campaign.

    Args:
        task: the task.
        kind: the kind of its round.
        texts: the campaign's texts.
        info: for a review, what people read about the term.
        choices: for a review, ids and shown texts of the terms to merge it into.
    """
    data: dict[str, Any] = {"task_id": task.id, "consent_version": consent_version(texts)}
    own = ROUNDS[kind]
    if own.work == "review":
        offered = [{"value": shown, "alias": term} for term, shown in choices]
        offered.append({"value": texts["review"]["into_other"], "alias": OTHER})
        return data | {"term": task.target, "domain": task.domain, "info": info, "choices": offered}
    data |= {"target": task.target, "domain": task.domain}
    if own.shows_items:
        data["context"] = show_blank(task.context or "", blank_word(texts))
        for number, shown in enumerate(task.shown, 1):
            data |= {f"id_{number}": shown.id, f"text_{number}": shown.text}
    return data


def numbers_in(data: Mapping[str, Any]) -> list[int]:
    """The numbers of the texts that the data of a task shows."""
    return [number for number in NUMBERS if f"text_{number}" in data]


# --- training -------------------------------------------------------------------------------

COLUMNS = ("kind", "target", "context", "text", "label", "why")
KEEPS_RULES = ("good", "bad")
"""The answers for writers: whether something that was written keeps to the rules of writing."""
_SPACES: dict[Work, Space] = {"review": "decision", "label": "label"}
"""What the answers of others name."""
BETWEEN = " | "
"""What is between the texts of an item that was written."""


class TrainingExample(NamedTuple):
    """An example of a training set.

    Attributes:
        kind: the kind of round that it is for; empty for validation.
        target: the group that it is about; of a review, it may be empty.
        context: the context of the text, with BLANK for the gap of an intrasentence context.
        text: the text to label; of a review, the term to decide on; of writing, what was written:
            a neutral text, or those of an item with ``BETWEEN``, in the order of its form.
        label: the right answer: a label, or one of ``values_of``.
        why: the reason, which people read after they have answered.
    """

    kind: str
    target: str
    context: str
    text: str
    label: str
    why: str


def values_of(kind: RoundKindName) -> tuple[str, ...]:
    """The answers to an example for a kind of round."""
    space = _SPACES.get(ROUNDS[kind].work)
    return tuple(FORM[space]) if space else KEEPS_RULES


def read_training(own: Path, language: str, kind: RoundKindName) -> tuple[TrainingExample, ...]:
    """The examples for a kind of round, in the order of their file.

    Args:
        own: path of the campaign's own set, which need not exist.
        language: the campaign's language code; ``en-GB`` uses ``en`` if it has no file.
        kind: the kind of round.

    Returns:
        The examples of the campaign's own set, else of the shipped set in this language; empty if
        there is none.

    Raises:
        CurationError: a column or a cell is missing, or a value is not allowed.
    """
    folder = shipped("data", "training")
    there = [own, *(folder / f"{name}.csv" for name in (language, language.split("-")[0]))]
    path = next((path for path in there if path.exists()), None)
    if path is None:
        return ()
    return tuple(each for each in _read_examples(path) if (each.kind or VALIDATION.name) == kind)


def _read_examples(path: Path) -> list[TrainingExample]:
    names, rows = read_csv(read_text(path), path)
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise CurationError(
            f"{path}: no column {', '.join(missing)}; it has {list_columns(names)}",
            f"use the columns {', '.join(COLUMNS)}",
        )
    return [_example(row, f"{path} line {number}") for number, row in rows]


def _example(row: Mapping[str, Any], place: str) -> TrainingExample:
    if row.get(""):
        raise CurationError(
            f"{place}: more cells than columns", "put texts with a comma into quotation marks"
        )
    cells = {name: " ".join(restore_cell(str(row.get(name) or "")).split()) for name in COLUMNS}
    name = cells["kind"].casefold()
    kind = next((kind for kind in ROUNDS.values() if kind.name == (name or VALIDATION.name)), None)
    if kind is None:
        raise CurationError(
            f"{place}: no kind of round {name!r}",
            f"use {', '.join(ROUND_KINDS)}, or leave the cell empty for validation",
        )
    needed = ("text", "label", "why") if kind.work == "review" else COLUMNS[1:]
    empty = [name for name in needed if not cells[name]]
    if empty:
        raise CurationError(f"{place}: {', '.join(empty)}: empty", "fill it in")
    known, word, space = values_of(kind.name), cells["label"], _SPACES.get(kind.work)
    label = shipped_words().read(space, word) if space else word.casefold()
    if label not in known:
        raise CurationError(
            f"{place}: {word!r} is not the answer to such an example", f"use {', '.join(known)}"
        )
    context, text, written = cells["context"], cells["text"], kind.writes
    if written and len(text.split(BETWEEN)) != written.size:
        raise CurationError(
            f"{place}: the text is not the {written.size} texts of an item",
            f"put{BETWEEN}between {', '.join(written.roles[:-1])} and {written.roles[-1]}",
        )
    if not written and BLANK in context and not filler(context, text):
        raise CurationError(
            f"{place}: the text is not the context with {BLANK} filled",
            "repeat the context, with words in the place of the gap",
        )
    return TrainingExample(name, cells["target"], context, text, str(label), cells["why"])
