"""Who is excluded and who withdrew: an append-only list of decisions; the last one holds."""

from collections.abc import Iterable

from curation.records import Standing

CODES = {"exclude": "excluded", "withdraw": "withdrawn", "erase": "withdrawn"}
"""By decision, the reason code with which a person's answers are refused."""


def out(decisions: Iterable[Standing]) -> dict[str, tuple[str, str]]:
    """By pseudonym of people whose answers do not count, the reason code and the reason given.

    People who withdrew stay out; later decisions do not change that.
    """
    people_out: dict[str, tuple[str, str]] = {}
    for decision in decisions:
        if people_out.get(decision.person, ("",))[0] == "withdrawn":
            continue
        if decision.action == "readmit":
            people_out.pop(decision.person, None)
        else:
            people_out[decision.person] = (CODES[decision.action], decision.reason)
    return people_out


def erased(decisions: Iterable[Standing]) -> frozenset[str]:
    """Pseudonyms of people whose answers must not even be kept in the archive."""
    return frozenset(d.person for d in decisions if d.action == "erase")
