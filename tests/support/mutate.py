"""Damages valid files: the inputs of the fuzz test. The same seed gives the same input."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import PurePath
from random import Random
from typing import Any

import pyarrow
import pyarrow.parquet

LONG = "x" * 300
HUGE = "y" * 200_000
TEXTS = (
    *("", " ", "\t", LONG, HUGE, "\x00", "\u202eabc", "a\ud800b", "\r\n", "a\nb", "\ufeff"),
    *("é" * 80, "=1+1", "@x", "-1", "'=1", "../../x", "/", ".", "a/b"),
    *("null", "true", "NaN", "Infinity"),
    *("1e999", "-5", "5.0", "1_000", "٣", "9" * 20, "9" * 5_000, "0x10", "1e-400", "1,5"),
    *("2026-03-14 10:22:05.000000Z", "20260314T102205,000000Z", "0001-01-01T00:00:00+23:59"),
    *("9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z", "3/14/2026 10:22:05", "10:22", "2026"),
    *("stereotype", "BLANK", "BLANK BLANK", "di-BLANK-kan", "t-unknown", "intrasentence"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, -5, 5.0, 0.5, 1e308, -1e308, 10**20, -(10**20), 2**63, 10**400),
    *([], {}, [[]], [None], {"": {}}, {"id": None}, [1, "2", {}], [{"id": "x"}]),
)
TOKENS = (
    *("1e999", "-1e999", "NaN", "-Infinity", "9" * 5_000, "-" + "9" * 20, "1e-999", "[" * 100_000),
    *('"\\ud800"', '"\\u0000"', "{" * 500, "[" * 500 + "]" * 500, "[" * 50_000 + "]" * 50_000),
    *("0x10", "1_000", "2026-03-14", "inf", "nan", '"', "", "{}", "[]", "''", "tru"),
)
BYTES = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b"\n\n", b'"', b"'", b","),
    *(b";", b"{", b"}", b"[", b"]", b"\\", b"\xe2\x80\xae", b"\xed\xa0\x80", b"=", b"#", b"\x1a"),
    b"\x1f\x8b",
)  # fmt: skip


def mutate(random: Random, data: bytes, name: str) -> bytes:
    """A damaged copy of a file; the ending of ``name`` says what its structure is."""
    kind = PurePath(name.removesuffix(".gz")).suffix
    way = STRUCTURES.get(kind, _as_bytes)
    for _ in range(1 if random.random() < 0.8 else 2):
        change = way if random.random() < 0.7 else _as_bytes
        data = change(random, data)
    return data


def _as_bytes(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((1, 1, 2, 10, 200)))
    before, part, after = data[:start], data[start:end], data[end:]
    text = random.choice((*BYTES, *(text.encode("utf-8", "surrogatepass") for text in TEXTS)))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: before,
        lambda: before + after,
        lambda: before + part * random.choice((2, 50)) + after,
        lambda: before + random.randbytes(len(part)) + after,
        lambda: before + text + after,
        lambda: before + text + part + after,
        lambda: _swap(random, data),
        lambda: _another_encoding(random, data),
    )
    return random.choice(ways)()


def _swap(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _another_encoding(random: Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    names = ("utf-16", "utf-16-be", "utf-8-sig", "utf-7", "cp1252", "utf-32")
    return text.encode(random.choice(names), "replace")


# --- JSON ---------------------------------------------------------------------------------------


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    keys = range(len(value)) if isinstance(value, list) else list(value)
    for key in keys:
        yield value, key
        if isinstance(value[key], list | dict):
            yield from _places(value[key])


def _as_json(random: Random, data: bytes) -> bytes:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return _as_bytes(random, data)
    value, token = [value], None
    holder, key = random.choice(list(_places(value)))
    old, way = holder[key], random.randrange(9)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[random.choice((key.upper(), key + "_x", "", LONG))] = holder.pop(key)
    elif way == 1:
        holder.append(old)
    elif way == 2:
        holder[key], token = "\x1ctoken\x1c", random.choice(TOKENS)
    else:
        wrapped = ([old], {random.choice(("", "id", "a")): old}, str(old))
        holder[key] = random.choice((*wrapped, random.choice(VALUES), *random.sample(TEXTS, 2)))
    text = json.dumps(value[0] if value else None, ensure_ascii=random.random() < 0.5)
    if token is not None:
        text = text.replace(json.dumps("\x1ctoken\x1c"), token, 1)
    return text.encode("utf-8", "surrogatepass")


def _as_lines(random: Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    number = random.randrange(len(lines))
    line = lines[number]
    ways: tuple[Callable[[], list[bytes]], ...] = (
        list,
        lambda: [line, line],
        lambda: [line.rstrip(b"\n")],
        *[lambda: [_as_json(random, line) + b"\n"]] * 5,
    )
    lines[number : number + 1] = random.choice(ways)()
    return b"".join(lines)


# --- tables and settings ------------------------------------------------------------------------


def _as_table(random: Random, data: bytes) -> bytes:
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline="")))
    except csv.Error:  # a cell is huge
        return _as_bytes(random, data)
    rows = [row for row in rows if row] or [[""]]
    row = random.choice(rows)
    cell, way = random.randrange(len(row)), random.randrange(12)
    if way == 0:
        rows[0][cell % len(rows[0])] = random.choice(TEXTS)
    elif way == 1:
        rows = [[*r[:cell], *r[cell + 1 :]] for r in rows]
    elif way == 2:
        rows[0].append(random.choice(rows[0]))
    elif way == 3:
        rows[0] += [f"c{n}" for n in range(random.choice((10, 5_000, 50_000)))]
    elif way == 4:
        row += [random.choice(TEXTS)] * random.choice((1, 3))
    elif way == 5:
        rows.insert(random.randrange(len(rows)), list(row))
    elif way == 6:
        del row[cell:]
    else:
        row[cell] = random.choice(TEXTS)
    out, end = io.StringIO(newline=""), random.choice(("\n", "\r\n"))
    csv.writer(out, delimiter=random.choice(",,,,;\t|"), lineterminator=end).writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def _as_settings(random: Random, data: bytes) -> bytes:
    lines = data.decode("utf-8", "replace").split("\n")
    number = random.choice([n for n, line in enumerate(lines) if "=" in line] or [0])
    name, _, value = lines[number].partition("=")
    token, odd = random.choice(TOKENS), random.choice(("-5", "5.5", "1e300", "9" * 20))
    more = random.choice(("1", "[]", "{}", value))
    table = random.choice(("[a.b]", "[terms]", "[[rounds]]", "[domains.x]", "["))
    new = random.choice(
        (
            [f"{name.strip()}_x ={value}"],
            [lines[number]] * 2,
            *([f"{name}= {random.choice((token, odd))}"] for _ in range(2)),
            [f"{name}= {json.dumps(random.choice(TEXTS))}"],
            [f"{name}= [{value}, {more}]"],
            [table, lines[number]],
        )
    )
    lines[number : number + 1] = new
    return "\n".join(lines).encode("utf-8", "surrogatepass")


# --- Parquet ------------------------------------------------------------------------------------


def _as_parquet(random: Random, data: bytes) -> bytes:
    """Damage what the file tells of itself at its end, or the values, if they have a schema."""
    if random.random() < 0.3 and len(data) > 12:
        size = min(int.from_bytes(data[-8:-4], "little"), len(data) - 8)
        place = len(data) - 8 - random.randrange(size + 1)
        return data[:place] + random.randbytes(1) + data[place + 1 :]
    file = io.BytesIO()
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(data))
        rows = json.loads(_as_json(random, json.dumps(table.to_pylist()).encode()))
        damaged = pyarrow.Table.from_pylist(rows).replace_schema_metadata(table.schema.metadata)
        pyarrow.parquet.write_table(damaged, file)
    except Exception:  # the values have no schema; pyarrow says so in many ways
        return _as_bytes(random, data)
    return file.getvalue()


# --- workbooks ----------------------------------------------------------------------------------

ATTRIBUTES = re.compile(rb'="([^"]*)"')
XML = (
    *(b"<f>1+1</f>", b"<v>9e999</v>", b'<c t="s"><v>-1</v></c>', b'<c r="XFD1048576"><v>1</v></c>'),
    *(b'<mergeCell ref="A1:B99"/>', b'<row r="99999999999"/>', b"<!DOCTYPE a>", b"<!-- -->"),
    *(b"&b;", b"<![CDATA[x]]>", b"<is>", b"</row>", b"<row>", b"</c>", b"\x00", b"_xD800_"),
    b"&#xD800;",
)


def _as_workbook(random: Random, data: bytes) -> bytes:
    """Damage a file of the archive, and pack it again; or change which files are there."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # it was damaged before
        return _as_bytes(random, data)
    sheets = [name for name in files if "sheet" in name] or list(files)
    name = random.choice(sheets if random.random() < 0.5 else list(files))
    way = random.randrange(8)
    if way == 0:
        del files[name]
    elif way == 1:
        files[name] = files[random.choice(list(files))]
    elif way == 2:
        files[name] = _as_bytes(random, files[name])
    elif way == 3:
        marks = [match.start() for match in re.finditer(b"<", files[name])] or [0]
        at = random.choice(marks)
        files[name] = files[name][:at] + random.choice(XML) + files[name][at:]
    else:
        files[name] = _another_value(random, files[name])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice((zipfile.ZIP_DEFLATED,) * 5 + (0, 12))) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, archive.compression)
    return out.getvalue()


def _another_value(random: Random, data: bytes) -> bytes:
    """XML with another value of an attribute, or another text."""
    pattern = random.choice((ATTRIBUTES, re.compile(rb">([^<]+)<")))
    places = list(pattern.finditer(data))
    if not places:
        return _as_bytes(random, data)
    start, end = random.choice(places).span(1)
    words = ("1", "A1", "hidden", "s", "d", "b", "e", "str", "inlineStr", "20")
    text = random.choice((*TEXTS, *words))
    new = text.encode("utf-8", "surrogatepass") if random.random() < 0.8 else data[start:end] * 2
    return data[:start] + new + data[end:]


STRUCTURES: dict[str, Callable[[Random, bytes], bytes]] = {
    ".json": _as_json,
    ".jsonl": _as_lines,
    ".csv": _as_table,
    ".toml": _as_settings,
    ".parquet": _as_parquet,
    ".xlsx": _as_workbook,
}
PLACE = re.compile(
    r"(line|lines|row|rows|byte|column|field|position|item|record|cell|task|step|domain) \S|"
    r"(part|sheet|sheets) \S|"
    r"\[[\w.]+\]|, \w+[.:]"
)
"""How a refusal names a place inside a file."""
