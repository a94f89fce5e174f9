"""Read articles and their sentences from text, JSON lines, Parquet, and WikiExtractor's output.

Files are streamed: one article is in memory at a time; of Parquet, about 64 MiB of articles.
"""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from curation.files import CurationError
from curation.formats.parquet import TextColumns
from curation.models.train.textfiles import bare_name, lines, plain

FORMS = ".txt, .jsonl (either also .gz or .bz2), .parquet, or wiki_00 as WikiExtractor names it"
_LARGEST = 256 << 20  # characters of an article at most, where each piece counts as 64 more
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
        return _from_text(path, lines(path, forms=FORMS), running)
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


def _from_text(path: Path, lines: Iterator[tuple[int, str]], running: bool) -> Iterator[list[str]]:
    article: list[str] = []
    size = 0
    for number, line in lines:
        if line.strip():
            sentences = split(line) if running else [plain(line)]
            size = _grown(size, sentences, f"{path} line {number}")
            article += sentences
        elif article:
            yield article
            article, size = [], 0
    if article:
        yield article


def _grown(size: int, pieces: Sequence[str], where: str) -> int:
    """The size of an article with more pieces.

    Raises:
        CurationError: it is too large to be one article.
    """
    size += sum(map(len, pieces)) + 64 * len(pieces)
    if size > _LARGEST:
        raise CurationError(
            f"{where}: an article does not end after {_LARGEST >> 20} MiB",
            "separate the articles: by an empty line in .txt files, by </doc> in WikiExtractor's",
        )
    return size


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
    opened, title, text, size = 0, "", list[str](), 0
    for number, line in lines:
        if head := _DOC.fullmatch(line):
            if opened:
                raise CurationError(f"{path} line {opened}: <doc> without </doc>", cut_off)
            opened, title, text, size = number, head["title"] or "", [], 0
        elif not opened and line.strip():
            raise CurationError(
                f"{path} line {number}: text outside <doc …> and </doc>",
                "name files that WikiExtractor wrote, or rename a text file to .txt",
            )
        elif line.strip() == "</doc>":
            yield _from_running("".join(text), title, escaped=True)
            opened = 0
        else:
            size = _grown(size, [line], f"{path} line {number}")
            text.append(line)
    if opened:
        raise CurationError(f"{path} line {opened}: <doc> without </doc>", cut_off)


# --- Parquet ------------------------------------------------------------------------------------


def _from_parquet(path: Path, field: str) -> Iterator[list[str]]:
    with TextColumns(path, field) as file:
        titled = file.has("title") and field != "title"
        for text, *title in file.rows([field, "title"] if titled else [field]):
            yield _from_running(text or "", title[0] if title else None)


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
