"""Read and write ``campaign.toml``."""

import difflib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from curation.files import CurationError, read_text, writing
from curation.setting_types import Section
from curation.settings import DomainSettings, Settings
from curation.toml_files import line_of, read_toml, toml_key, toml_value, with_setting
from curation.trust_settings import GroupSettings

_FILE = "use the name of a file in the folder {}, without / and \\"
_FIXES = {
    "version": "use letters, digits and the characters . + -, and begin with a letter or a digit, "
    'such as "0.1.0"',
    "name": "use printable characters without /",
    "language": 'use a language code, such as "en" or "pt-BR"',
    "properties": 'use properties of Wikidata, such as "P106"',
    "population": 'use a property and an item of Wikidata, such as "P27=Q252"',
    "words": _FILE.format("1-terms/"),
    **dict.fromkeys(
        ("lists", "targets", "reference", "anchors", "outcomes", "history", "frequencies"),
        _FILE.format("6-trust/"),
    ),
    **dict.fromkeys(("generic", "roots", "exclude"), 'use items of Wikidata, such as "Q5"'),
}
"""How to write a setting whose text does not have the right form."""
_TABLES: dict[str, type[Section]] = {"domains": DomainSettings, "groups": GroupSettings}
"""The settings of which there is a table for each name, such as ``[domains.NAME]``."""


def read_settings(path: Path) -> Settings:
    """Read a ``campaign.toml``.

    Raises:
        CurationError: the file is not TOML, or a setting is unknown or out of range; the message
            names the line.
    """
    content = read_toml(path, fix="see docs/settings.md for the format")
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(key) for key in first["loc"] if key != "[key]"]
        message = first["msg"].removeprefix("Value error, ")
        fix = "see docs/settings.md"
        if first["type"] == "extra_forbidden":
            message = "no such setting"
            near = difflib.get_close_matches(keys[-1], _known(keys[:-1]), 1)
            fix = f"did you mean {near[0]!r}?" if near else fix
        elif first["type"] == "string_pattern_mismatch":
            message = f"{str(first['input'])[:100]!r} is not valid"
            fix = next((_FIXES[key] for key in reversed(keys) if key in _FIXES), fix)
        line = line_of(read_text(path), keys, depth=2 if keys[0] in _TABLES else 1)
        raise CurationError(f"{path}{line}, {'.'.join(keys)[:200]}: {message}", fix) from None


def write_setting(path: Path, table: str, key: str, value: str) -> None:
    """Write a setting into a ``campaign.toml``; comments, order and other settings stay.

    Args:
        path: the file.
        table: the name of the table.
        key: the setting.
        value: its new value.

    Raises:
        CurationError: the file is a link or cannot be written; the message has the line to add.
    """
    line = f"{key} = {toml_value(value)}"
    try:
        new = with_setting(read_text(path), table, key, value)
        with writing(path, private=not path.stat().st_mode & 0o77) as file:
            file.write(new.encode())
    except CurationError as error:
        raise CurationError(
            f"{path}: {line} in [{table}] could not be added: {error.what}",
            f"add {line} to [{table}] yourself, then run this again",
        ) from None


def _known(keys: list[str]) -> list[str]:
    if keys and keys[0] in _TABLES:
        return list(_TABLES[keys[0]].model_fields)
    section: Any = Settings.model_fields[keys[0]].annotation if keys else Settings
    return list(section.model_fields)


def settings_text(settings: Settings) -> str:
    """A ``campaign.toml`` with every setting, its value and a comment that explains it."""
    lines = ["# Settings of a curation campaign. docs/settings.md describes each of them.", ""]
    explained: set[type] = set()
    for name in Settings.model_fields:
        value = getattr(settings, name)
        tables = value if isinstance(value, dict) else {"": value}
        for part, section in tables.items():
            head = name if not part else f"{name}.{toml_key(part)}"
            new, kind = type(section) not in explained, type(section)
            explained.add(kind)
            lines += [f"[{head}]" + (f"  # {(kind.__doc__ or '').strip()}" if new else "")]
            for key, field in kind.model_fields.items():
                if getattr(section, key) is None:  # a setting with an earlier name
                    continue
                text = toml_value(getattr(section, key))
                lines += [f"# {field.description}"] if new else []
                lines += [f"{key} = {text}"]
            lines += [""]
    return "\n".join(lines)
