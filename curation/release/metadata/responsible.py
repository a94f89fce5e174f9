"""What a release says for responsible AI, by the names of Croissant's RAI vocabulary 1.0.

Values are plain texts, from ``data/release/templates/responsible.jinja``. What only the team can
say comes from the answers to the questions; where an answer is missing, the text says so.
"""

from curation.release.texts.render import fields
from curation.released.facts import Facts

ALSO = {
    "dataCollectionTimeFrame": "dataCollectionTimeframe",
    "dataDataManipulationProtocol": "dataManipulationProtocol",
}
"""The names under which mlcroissant 1.1 reads values, and those of the vocabulary."""


def summary(facts: Facts) -> str:
    """The description of a release as plain text: warning, description, size, canary."""
    return "\n\n".join(_made(facts)["description"])


def responsible(facts: Facts) -> dict[str, str | list[str]]:
    """The values by their names without prefix, without those that are empty."""
    values = {name: value for name, value in _made(facts).items() if name != "description"}
    return values | {name: values[own] for name, own in ALSO.items() if own in values}


def _made(facts: Facts) -> dict[str, str | list[str]]:
    return fields("responsible", facts=facts)
