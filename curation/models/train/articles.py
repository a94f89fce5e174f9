"""Read articles and their sentences from text, JSON lines, Parquet, and WikiExtractor's output.

Files are streamed: one article is in memory at a time, or a few thousand for Parquet.
"""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from curation.files import CurationError
from curation.models.train.textfiles import bare_name, lines, plain

FORMS = ".txt, .jsonl (either also .gz or .bz2), .parquet, or wiki_00 as WikiExtractor names it"
_ROWS = 1 << 12  # rows of a Parquet file that are read at once
_WIKI = re.compile(r"wiki_\d+")
# The title is the last attribute of the tag, and may contain quotes.
_DOC = re.compile(r'<doc\b(?:.*?\btitle="(?P<title>.*)"|.*)[^"]*>\s*')
# The end of a sentence: followed by a space in most scripts, but not in Chinese and Japanese.
_END = re.compile(r"(?:[.!?…؟۔։།]+|[।॥።။។]+)[\"'»”’)\]]*(?=\s)|[。！？｡]+[\"'»”’）」』】]*|\n+")
_WORD = re.compile(r"[^\W_]")


def article_files(path: Path) -> list[Path]:
    """The files of a corpus: the file itself, or the files of a folder, sorted by path.

    A folder is searched with its subfolders. Hidden files and files of other types are skipped.

    Raises:
        CurationError: the path does not exist, or a folder has no file that can be read.
    """
    if not path.exists():
        raise CurationError(f"{path}: no such file or folder", "check the path")
    if not path.is_dir():
        return [path]
    inside = sorted(
        file
        for file in path.rglob("*")
        if _form(file) and not any(part[0] == "." for part in file.relative_to(path).parts)
    )
    files = [file for file in inside if file.is_file()]
    if not files:
        raise CurationError(f"{path}: there is no file of articles in this folder", f"use {FORMS}")
    return files


def _form(path: Path) -> str:
    """The format of a file by its name: txt, jsonl, parquet, wiki, or ""."""
    name = bare_name(path)
    if _WIKI.fullmatch(name):
        return "wiki"
    ending = name.rpartition(".")[2] if "." in name else ""
    packed = name != path.name.lower()
    return ending if ending in {"txt", "jsonl"} or (ending == "parquet" and not packed) else ""


def articles(path: Path, *, running: bool = False, field: str = "text") -> Iterator[list[str]]:
    """The articles of a file, each as a list of sentences.

    The name of the file gives its format:

    * ``.txt``: a sentence per line, and an empty line between articles.
    * ``.jsonl``: an article per line: ``{"sentences": […]}``, or ``{"text": "…"}``, which is split.
    * ``.parquet``: an article per row; its text is split.
    * ``wiki_00`` …: a file of WikiExtractor with ``<doc …>`` blocks or, with its option ``--json``,
      an object per line.

    All formats except Parquet may be compressed by gzip or bzip2. A first line that only repeats
    the article's title (``title``) is left out.

    Args:
        path: the file.
        running: lines of ``.txt`` files are running text, and are split into sentences.
        field: the name of the text in JSON lines, and of its column in Parquet.

    Raises:
        CurationError: the file has another format, or is empty, damaged or not text; the error
            names file and line.
    """
    form = _form(path)
    if form == "txt":
        return _from_text(lines(path, forms=FORMS), running)
    if form == "jsonl":
        return _from_json(path, lines(path, forms=FORMS), field)
    if form == "wiki":
        return _from_wiki(path, lines(path, forms=FORMS), field)
    if form == "parquet":
        return _from_parquet(path, field)
    if bare_name(path).endswith(".xml"):
        raise CurationError(
            f"{path}: is a dump of a wiki, not its text",
            "extract the text with WikiExtractor, and name the folder that it writes",
        )
    raise CurationError(
        f"{path}: the name is not that of text, JSON lines or Parquet", f"use {FORMS}"
    )


def _from_text(lines: Iterator[tuple[int, str]], running: bool) -> Iterator[list[str]]:
    article: list[str] = []
    for _, line in lines:
        if line.strip():
            article += split(line) if running else [plain(line)]
        elif article:
            yield article
            article = []
    if article:
        yield article


def _from_json(
    path: Path, lines: Iterator[tuple[int, str]], field: str, *, escaped: bool = False
) -> Iterator[list[str]]:
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{path} line {number}"
        fix = f'write {{"{field}": "…"}} or {{"sentences": ["…", "…"]}}'
        try:
            content = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise CurationError(f"{where}: is not JSON", fix) from None
        if isinstance(content, dict) and isinstance(text := content.get(field), str):
            yield _from_running(text, content.get("title"), escaped=escaped)
            continue
        sentences = content.get("sentences") if isinstance(content, dict) else None
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            raise CurationError(f"{where}: has neither a text nor a list of sentences", fix)
        yield [kept for sentence in sentences if (kept := plain(sentence))]


def _from_running(text: str, title: Any, *, escaped: bool = False) -> list[str]:
    """The sentences of an article's text, without a first line that repeats the title."""
    title = title if isinstance(title, str) else ""
    if escaped:
        text, title = html.unescape(text), html.unescape(title)
    first, _, rest = text.lstrip().partition("\n")
    return split(rest if title and plain(first) == plain(title) else text)


# --- WikiExtractor ------------------------------------------------------------------------------


def _from_wiki(path: Path, lines: Iterator[tuple[int, str]], field: str) -> Iterator[list[str]]:
    before: list[tuple[int, str]] = []
    for numbered in lines:
        before.append(numbered)
        if numbered[1].strip():
            break
    whole = chain(before, lines)
    # WikiExtractor writes & < > of the text as entities, in either form.
    if before and before[-1][1].lstrip().startswith("{"):
        return _from_json(path, whole, field, escaped=True)
    return _from_blocks(path, whole)


def _from_blocks(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
    cut_off = "the file may be cut off; extract the text again"
    opened, title, text = 0, "", list[str]()
    for number, line in lines:
        if head := _DOC.fullmatch(line):
            if opened:
                raise CurationError(f"{path} line {opened}: <doc> without </doc>", cut_off)
            opened, title, text = number, head["title"] or "", []
        elif not opened and line.strip():
            raise CurationError(
                f"{path} line {number}: text outside <doc …> and </doc>",
                "name files that WikiExtractor wrote, or rename a text file to .txt",
            )
        elif line.strip() == "</doc>":
            yield _from_running("".join(text), title, escaped=True)
            opened = 0
        else:
            text.append(line)
    if opened:
        raise CurationError(f"{path} line {opened}: <doc> without </doc>", cut_off)


# --- Parquet ------------------------------------------------------------------------------------


def _from_parquet(path: Path, field: str) -> Iterator[list[str]]:
    try:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise CurationError(
            f"{path}: reading Parquet needs pyarrow, which is not installed",
            "pip install 'curation[parquet]'",
        ) from None
    try:
        with ParquetFile(path) as file:
            columns = [field, *_title_column(path, file.schema_arrow, field)]
            for batch in file.iter_batches(_ROWS, columns=columns):
                texts, *titles = (
                    batch.column(column).cast(arrow.string()).to_pylist() for column in columns
                )
                for text, title in zip(texts, *titles or [[None] * len(texts)], strict=True):
                    yield _from_running(text or "", title)
    except FileNotFoundError:
        raise CurationError(f"{path}: no such file", "check the path") from None
    except (arrow.ArrowException, OSError, UnicodeError) as error:
        raise CurationError(
            f"{path}: cannot be read as Parquet: {str(error).strip()}", "download the file again"
        ) from None


def _title_column(path: Path, schema: Any, field: str) -> Sequence[str]:
    """The column «title», if there is one and it contains text.

    Raises:
        CurationError: the column of the text is missing or does not contain text.
    """
    types = {
        name: str(getattr(type_, "value_type", type_))  # dictionary columns have a type of values
        for name, type_ in zip(schema.names, schema.types, strict=True)
    }
    texts = [name for name, type_ in types.items() if type_.removeprefix("large_") == "string"]
    if field not in texts:
        problem = f"is {types[field]}, not text" if field in types else "does not exist"
        raise CurationError(
            f"{path}: the column {field!r} {problem}",
            f"give the column of the text with --field; the columns are {', '.join(types)}",
        )
    return ["title"] if "title" in texts and field != "title" else []


# --- sentences ----------------------------------------------------------------------------------


def split(text: str) -> list[str]:
    """Split running text into sentences by a simple rule.

    A sentence ends

    * at a line break;
    * at 。！？;
    * at . ! ? … and the corresponding marks of Arabic, Urdu, Devanagari, Armenian, Tibetan,
      Ethiopic, Burmese and Khmer if a space follows; but not if the next word begins with a
      lower-case letter, and not after a single letter (an initial).

    The rule does not know abbreviations («Dr. Varga» is split). Scripts without such marks, such as
    Thai, are split at line breaks only: split such text beforehand.

    >>> split('The baker, J. Varga, sang. "Loudly!" Nobody minded… or so it seems.')
    ['The baker, J. Varga, sang.', '"Loudly!"', 'Nobody minded… or so it seems.']
    >>> split("今日は晴れ。散歩に行こう！")
    ['今日は晴れ。', '散歩に行こう！']
    >>> split("... and then it rained.")
    ['... and then it rained.']
    """
    sentences, start = [], 0
    for end in _END.finditer(text):
        follows = _WORD.search(text, end.end())
        before = text[max(end.start() - 2, 0) : end.start()].rjust(2)
        initial = end[0].startswith(".") and before[0].isspace() and before[1].isalpha()
        continues = follows is not None and follows[0].islower()
        if (continues or initial) and "\n" not in end[0]:
            continue
        sentences.append(text[start : end.end()])
        start = end.end()
    sentences.append(text[start:])
    return [kept for sentence in sentences if (kept := plain(sentence))]
