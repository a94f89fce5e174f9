"""The words with which answers choose, decline or hesitate, in the languages that are read.

``data/replies/choosing.toml`` has them, and says how its lists are written. A prompts file adds
phrases of its own.
"""

import re

from curation.files import shipped
from curation.formats.toml_files import read_toml


def read_words(name: str, **known: str) -> dict[str, str]:
    """The lists of a file in ``data/replies/``, each as one regular expression.

    Args:
        name: the file.
        known: what names in braces stand for, beside the lists above.
    """
    lists = read_toml(shipped("data", "replies", name), fix="see words.py for its form")
    for key, entries in lists.items():
        pattern = re.sub(r"\n\s*", "", "|".join(entries))
        for other, meant in known.items():
            pattern = pattern.replace(f"{{{other}}}", meant)
        known[key] = f"(?:{pattern})"
    return known


_WORDS = read_words("choosing.toml")
LABELS = _WORDS["labels"]
ANSWERS = _WORDS["answers"]
IS = _WORDS["is"]
CHOOSE = _WORDS["choose"]
FILL = _WORDS["fill"]
SO = _WORDS["so"]
GOOD = _WORDS["good"]
MORE = _WORDS["more"]
LESS = _WORDS["less"]
BAD = _WORDS["bad"]
NOT = _WORDS["not"]
THAN = _WORDS["than"]
AND = _WORDS["and"]
CONTRAST = _WORDS["contrast"]
IF = _WORDS["if"]
CUE = re.compile(_WORDS["cue"])
BEFORE = _WORDS["before"]
AFTER = _WORDS["after"]
FINITE = _WORDS["finite"]
VERBS = _WORDS["verbs"]
