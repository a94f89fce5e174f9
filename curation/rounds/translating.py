"""The file of texts for a new language: every key, with the English text beside it."""

import tomllib
from collections.abc import Mapping
from typing import Any

from curation.files import read_text, shipped
from curation.formats.table_words import FIRST, nearest, read_shipped
from curation.formats.toml_files import comment, toml_value
from curation.records import KINDS

KEPT = {"page", "study"}  # sections whose values are no texts
KEPT_KEYS = {("consent", "version"), ("writing", "blank")}
WORDS = "_words"  # how the names of sections end that list words that are read
HEAD = """\
# The texts that annotators read, in «{language}». Write each text in your language; the English
# text is beside it. What is in braces or brackets, such as {{contact}} or [n], stays as it is, at
# any place. **two stars** make bold, *one star* italics. Sections whose names end in _words list
# further words that are read in tables, and may stay empty. Change [writing] blank: it must be no
# ordinary word of a sentence. «curation rounds open» names the texts that are still missing.

"""
PROMPTS_HEAD = """\

# --- what chat models are asked -------------------------------------------------------------------
# Only for scores of chat models; if you need none, delete all below. docs/chat.md has the rules.

"""


def skeleton(language: str, *, like: str = "", study: Mapping[str, str] | None = None) -> str:
    """The texts of forms, pages and tables, and the prompts of chat models, to be translated.

    Args:
        language: the code of the new language. Texts that are shipped in it or in its base, such
            as ``id`` of ``id-ID``, are filled in.
        like: a shipped language whose texts are filled in instead, because it is near.
        study: the facts of the study that are known.

    Returns:
        A TOML file. Texts that are not filled in are empty.
    """
    near = nearest(like or language)
    parts = [_translated(folder, near, study or {}) for folder in ("text", "tables")]
    return HEAD.format(language=language) + "\n".join(parts) + _prompts(near)


def _translated(folder: Any, near: str | None, study: Mapping[str, str]) -> str:
    """A shipped English file with the texts of another language, or with none."""
    import tomlkit  # most commands do not need it

    text = read_text(shipped("annotation_configs", folder, f"{FIRST}.toml"))
    document = tomlkit.parse(text[text.index("\n[") + 1 :])
    own = read_shipped(folder, near) if near else {}
    for section, keys in read_shipped(folder, FIRST).items():
        table: Any = document[section]
        for key, english in keys.items():
            given = own.get(section, {}).get(key)
            is_kept = section in KEPT or (section, key) in KEPT_KEYS
            if section == "study" and study.get(key):
                table[key] = study[key]
            elif is_kept:
                table[key] = english if given is None else given
            elif isinstance(english, str):
                table[key] = given or ""
                table[key].comment(english)
            elif section.endswith(WORDS):
                table[key] = _list(given or [])
                table[key].comment(", ".join(english))
            else:
                table[key] = _list(given or [""] * len(english), english)
    return tomlkit.dumps(document)


def _list(values: list[str], english: list[str] | None = None) -> Any:
    """A list of texts; with the English text beside each, if it is given."""
    import tomlkit

    array: Any = tomlkit.array()
    if english is None:
        array.extend(values)
        return array
    for value, text in zip(values, english, strict=True):
        array.add_line(value, comment=text)
    array.add_line(indent="")
    return array


def _prompts(near: str | None) -> str:
    """The section of prompts; empty if the language has prompts."""
    if near and shipped("data", "prompts", f"{near}.toml").exists():
        return ""
    prompts = tomllib.loads(read_text(shipped("data", "prompts", f"{FIRST}.toml")))
    lines = [PROMPTS_HEAD, "[prompts]\n", f"letters = {toml_value(prompts['letters'])}\n"]
    lines.append(f'again = ""  # {prompts["again"]}\n')
    for name in ("answers", "refusals"):
        lines += [comment(f"such as: {'; '.join(prompts[name])}"), f"{name} = []\n"]
    for kind in KINDS:
        for prompt in prompts[kind]:
            lines.append(f"\n[[prompts.{kind}]]\nname = {toml_value(prompt['name'])}\n")
            lines += [f"# {line}".rstrip() + "\n" for line in prompt["text"].strip().split("\n")]
            lines.append('text = ""\n')
    return "".join(lines)
