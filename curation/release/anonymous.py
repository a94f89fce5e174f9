"""Releases for anonymous review: names and addresses are left out, and every file is searched.

``anonymize`` takes out of the facts what says who made a release. ``scan`` then searches the
finished files, because names can also be in texts that somebody wrote.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from io import BytesIO
from typing import Any, Literal, NamedTuple

from curation.campaign.settings import DecisionSettings, RoundSettings
from curation.files import CurationError, read_text, shipped
from curation.formats.toml_files import read_toml
from curation.kinds import CAT_KINDS
from curation.release.texts.questions import QUESTIONS, SECTIONS
from curation.released.contents import SEALED, STEREOSET
from curation.released.facts import Facts, Hub, RoundFacts, Statement
from curation.text.wording import amount, some

_LISTS = read_toml(shipped("data", "release", "anonymous.toml"), fix="see its comments")
DATA = (
    "cats/",
    "hidden/",
    *(f"{kind}/" for kind in CAT_KINDS),
    "annotations",
    *STEREOSET,
    SEALED,
)
"""Beginnings of the paths of files with the texts of CATs, or with ids only."""
_MAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
_LINK = re.compile(r"(?:\b(?:https?|ftp|git|ssh|file)://|\bwww\.)[^\s<>\"'`()\[\]{}\\|]+")
_HOME = re.compile(r"(?:/(?:home|users)/|\b[a-z]:/?users/?)[^\s<>\"'`()\[\]{}|,;]+")
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"(?s)\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}")
_COMMON = frozenset(_LISTS["common"])
_BASE = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_SPELT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"})
_NAMED = 3  # places that an error names
_LONG = 8  # letters of a name that is also found inside of words
Kind = Literal["address", "name", "word"]


class Place(NamedTuple):
    """A place in a file that may say who made the release.

    Attributes:
        path: the file.
        line: the line, from 1; in Parquet, the number of the text.
        found: what is there.
        kind: ``address`` is a mail address or a link, ``name`` a whole name, ``word`` one word of
            a name.
        blocks: whether the release must not be built. It is false if the place may be a
            coincidence: a name in the text of a CAT, or a word that CATs use too.
    """

    path: str
    line: int
    found: str
    kind: Kind
    blocks: bool


# --- taking names out -----------------------------------------------------------------------


def anonymize(facts: Facts, secrets: Collection[str] = ()) -> Facts:
    """The facts of a release for review: without names, addresses and links.

    Authors, contact and takedown address, links, the DOI and the Hub's id are left out, and so are
    the answers that say who made the dataset (``identifying`` in ``data/release/anonymous.toml``).
    Texts that people read lose their lines with a name or an address. Questions stay open only if
    the team has not answered them.

    Args:
        facts: the facts of the release.
        secrets: other names than those in the statement, such as that of the institution.
    """
    given = facts.statement
    hidden = [*identifying_names(given), *secrets]
    kept = {key: text for key, text in given.answers.items() if key not in _LISTS["identifying"]}
    hub = Hub(gated=given.hub.gated, prompt=given.hub.prompt, fields=given.hub.fields)
    changes: dict[str, Any] = {
        "statement": Statement(description=given.description, hub=hub, answers=kept),
        "rounds": tuple(_without(made, hidden) for made in facts.rounds),
        "anonymous": True,
    }
    if facts.licence.spdx == "MIT":  # its text names the copyright holders
        text = re.sub(r"(?m)^(Copyright \(c\) \d+) .*$", r"\1 the authors", facts.licence.text)
        changes["licence"] = facts.licence.model_copy(update={"text": text})
    return facts.model_copy(update=changes)


def _without(made: RoundFacts, secrets: Collection[str]) -> RoundFacts:
    """A round without the lines of its texts that have a name or an address."""
    whole = [_pattern(name) for name in _whole(secrets)]

    def says_who(line: str) -> bool:
        return any(_addresses(line)) or any(name.search(line) for name in whole)

    def kept(lines: Iterable[str]) -> tuple[str, ...]:
        return tuple(line for line in lines if not says_who(_plain(line)))

    read = tuple(part.model_copy(update={"lines": kept(part.lines)}) for part in made.read)
    rest = {name: kept(getattr(made, name)) for name in ("required", "consent_text")}
    return made.model_copy(update={"read": read, **rest})


def identifying_names(statement: Statement) -> list[str]:
    """Every name and address in a statement that says who made the dataset."""
    parts = [part for a in statement.authors for part in (a.name, a.affiliation, a.email, a.orcid)]
    parts += [statement.contact, statement.takedown, statement.doi, statement.hub.id]
    parts += statement.hub.id.split("/")[:1]
    for link in (statement.homepage, statement.repository, statement.paper):
        host, _, path = _place(link).partition("/")
        if host in _LISTS["hosts"]:
            parts += [path.split("/")[0]]
        elif host and not _is_allowed(link):
            parts += [host]
        parts += [link]
    return [name for name in dict.fromkeys(parts) if name.strip()]


# --- searching files ------------------------------------------------------------------------


def scan(files: Mapping[str, bytes], secrets: Collection[str]) -> list[Place]:
    """Search the files of a release for addresses and names.

    Each mail address, each link that is not ``allowed``, each secret and each word of a secret
    is a place. Case and accents make no difference. Parquet files are searched by their values;
    damaged ones have none.

    Args:
        files: the content of each file by its path in the release.
        secrets: names and addresses that must not be in it, such as from ``identifying_names``.

    Returns:
        The places, in the order of files and lines.
    """
    texts = {path: list(_lines(path, content)) for path, content in files.items()}
    common = set(_own_words())
    for path, lines in texts.items():
        if path.startswith((*DATA, "terms", "LICENSE")):
            common |= {word for line in lines for word in _WORD.findall(line)}
    whole = {name: _pattern(name) for name in _whole(secrets)}
    words = {word: _pattern(word) for word in _words(secrets)}
    single = {name for name in whole if name in words}
    anything = re.compile("|".join(p.pattern for p in {**whole, **words}.values()) or r"(?!)")
    # A quick look before the patterns. In scripts without spaces, names may have some.
    firsts = {name.split()[0] if _has_case(name) else name[0] for name in (*whole, *words)}
    places = []
    for path, lines in texts.items():
        data = path.startswith(DATA)
        for number, line in enumerate(lines, 1):
            addresses = list(_addresses(line))
            for address in addresses:
                known = bool(anything.search(address))
                places.append(Place(path, number, address, "address", known or not data))
            # A name may be split over two lines of a text.
            next_line = "" if data or number == len(lines) else lines[number].lstrip(" >*#|-")
            joined = f"{line.rstrip()} {next_line}"
            if not (any(first in joined for first in firsts) and anything.search(joined)):
                continue
            named = [
                name
                for name, form in whole.items()
                if form.search(line)
                or (next_line and form.search(joined) and not form.search(next_line))
            ]
            for name in named:
                if not any(name in address for address in addresses):
                    doubtful = data or (name in single and name in common)
                    places.append(Place(path, number, name, "name", not doubtful))
            inside = " ".join(named)
            for word, form in words.items():
                if form.search(line) and not form.search(inside):
                    doubtful = data or word in common
                    places.append(Place(path, number, word, "word", not doubtful))
    return places


def refusal(places: Collection[Place]) -> CurationError | None:
    """The error that stops a build; None if no place blocks it."""
    if not (blocking := [place for place in places if place.blocks]):
        return None
    listed = some((f"{p.path} line {p.line}: {p.found!r}" for p in blocking), _NAMED)
    return CurationError(
        f"the release for review says who made it: {listed}",
        "remove it from 7-release/statement.toml, 2-rounds/text.toml or campaign.toml, and build "
        "again; if it is in the name of a model, score this with LABEL=MODEL",
    )


def doubts(places: Collection[Place]) -> str:
    """A warning that names places which may be a coincidence; empty if there are none."""
    if not (doubtful := [place for place in places if not place.blocks]):
        return ""
    counts = Counter(place.found for place in doubtful)
    # A word that is rare outside of the CATs says most; the last path of those counts here.
    paths = {p.found: p.path for p in sorted(doubtful, key=lambda p: not p.path.startswith(DATA))}
    rare = sorted(counts, key=lambda found: (paths[found].startswith(DATA), counts[found]))
    listed = some(
        (f"{found!r} {amount(counts[found], 'time')}, such as in {paths[found]}" for found in rare),
        _NAMED,
    )
    return (
        f"words of names or addresses that may be a coincidence: {listed}; read these "
        "places, because they are published as they are"
    )


def _lines(path: str, content: bytes) -> Iterator[str]:
    """The lines of a file, or the texts in a Parquet file, in plain form."""
    if path.endswith(".parquet"):
        return map(_plain, _parquet_texts(content))
    return map(_plain, content.decode("utf-8", "replace").split("\n"))


def _parquet_texts(content: bytes) -> Iterator[str]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(BytesIO(content))
        rows, about = table.to_pylist(), table.schema.metadata or {}
    except (pyarrow.ArrowException, OSError, ValueError):  # somebody else's damaged file
        return
    for key, value in about.items():
        yield f"{key.decode('utf-8', 'replace')} {value.decode('utf-8', 'replace')}"
    for row in rows:
        yield " \x1f ".join(_strings(row))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


# --- forms of names -------------------------------------------------------------------------


def _plain(text: str) -> str:
    """A text without accents, differences in case, and the escapes of Markdown, YAML and JSON."""
    if "\\" in text:
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text)
        text = text.replace("\\", "")
    text = text.replace("''", "'").replace("&lt;", "<").replace("&gt;", ">")
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    seen = (c for c in apart if not unicodedata.combining(c) and unicodedata.category(c) != "Cf")
    return "".join(seen).translate(_BASE).replace("’", "'")


def _whole(secrets: Iterable[str]) -> list[str]:
    """Names in plain form, also as they are written without umlauts: Müller is also Mueller."""
    composed = ((name, unicodedata.normalize("NFC", name).casefold()) for name in secrets)
    forms = (form for name, one in composed for form in (name, one.translate(_SPELT)))
    plain = (" ".join(_plain(form).split()) for form in forms)
    return [name for name in dict.fromkeys(plain) if len(name) > 1]


def _words(secrets: Iterable[str]) -> list[str]:
    """The words of names that say something: not those of any institution, and not short ones.

    In a name of several words, lower-case ones say nothing, unless it has no others: "Approved by
    the board of Nowhere" has two words that may say something.
    """
    capitals = ((name, [w for w in name.split() if not w.islower()]) for name in secrets)
    named = (" ".join(words) if words and " " in name.strip() else name for name, words in capitals)
    names = (name for name in _whole(named) if "/" not in name)  # no links and no ids
    spoken = (name.rpartition(".")[0] if _MAIL.fullmatch(name) else name for name in names)
    words = (word for name in spoken for word in _WORD.findall(name))
    return [
        word
        for word in dict.fromkeys(words)
        if word not in _COMMON and len(word) > (2 if _has_case(word) else 1)
    ]


@cache
def _own_words() -> set[str]:
    """The words that a release may have anyway: in its texts and facts, and in shipped texts."""
    templates = shipped("data", "release", "templates").glob("*.jinja")
    # Of the code in templates, only texts between quotes may be in a release.
    texts = [
        _CODE.sub(lambda part: " ".join(re.findall(r'"([^"]*)"', part[0])), read_text(path))
        for path in templates
        if not path.name.startswith("revealed")
    ]
    texts += [_LISTS["front_matter"]]
    asked = shipped("annotation_configs", "text").glob("*.toml")
    texts += [read_text(path) for path in asked]  # what annotators read, in any language
    forms = (Facts, DecisionSettings, RoundSettings)  # their fields are keys of release.json
    texts += [json.dumps(form.model_json_schema()) for form in forms]
    texts += [*(question.text for question in QUESTIONS), *SECTIONS.values()]
    return {word for text in texts for word in _WORD.findall(_plain(text.replace("_", " ")))}


def _has_case(word: str) -> bool:
    return word.upper() != word


def _pattern(name: str) -> re.Pattern[str]:
    """A pattern of a whole name.

    In scripts without spaces, it can be inside of a word, and have spaces. So can a long name of
    several words, as in an account: "annexample2".
    """
    words = name.split()
    if not _has_case(name) and not any(c.isdigit() for c in name):
        return re.compile(r"\s*".join(map(re.escape, "".join(words))))
    if len(words) > 1 and sum(map(len, words)) >= _LONG:
        return re.compile(r"[\s_.-]*".join(map(re.escape, words)))
    inner = r"\s+".join(map(re.escape, words))
    before = r"(?<![^\W_])" if _has_case(name[0]) else ""
    after = r"(?![^\W_])" if _has_case(name[-1]) else ""
    return re.compile(before + inner + after)


def _addresses(line: str) -> Iterator[str]:
    """Mail addresses, links that are not allowed, and folders of a person's computer."""
    if "@" in line:
        yield from _MAIL.findall(line)
    if "://" in line or "www." in line:
        yield from (link for link in _LINK.findall(line) if not _is_allowed(link))
    if "://" not in line:
        yield from _HOME.findall(line)


def _place(link: str) -> str:
    """A link without its scheme, account and port: host and path."""
    host, slash, path = re.sub(r"^\w+://", "", link).partition("/")
    host = host.rpartition("@")[2].partition(":")[0]
    return host.removeprefix("www.") + slash + path


def _is_allowed(link: str) -> bool:
    place = _place(link.casefold())
    host = place.partition("/")[0]
    rest = place.partition("/")[2].rstrip("/.,;")
    for domain, _, path in (allowed.casefold().partition("/") for allowed in _LISTS["allowed"]):
        if host == domain and (not path or f"{rest}/".startswith(f"{path}/")):
            return True
        if host.endswith(f".{domain}") and not path:
            return True
    return False
