"""Who is excluded, who withdrew: an append-only list of decisions, of which the last word holds."""

from collections.abc import Iterable

from curation.records import Standing

CODES = {"exclude": "excluded", "withdraw": "withdrawn", "erase": "withdrawn"}
"""The reason code under which a person's answers are refused, by the decision."""


def out(decisions: Iterable[Standing]) -> dict[str, tuple[str, str]]:
    """Whose answers do not count, by pseudonym: the reason code, and the reason given.

    Who withdrew stays out, whatever is said later.
    """
    found: dict[str, tuple[str, str]] = {}
    for decision in decisions:
        if found.get(decision.person, ("",))[0] == "withdrawn":
            continue
        if decision.action == "readmit":
            found.pop(decision.person, None)
        else:
            found[decision.person] = (CODES[decision.action], decision.reason)
    return found


def erased(decisions: Iterable[Standing]) -> frozenset[str]:
    """Whose answers may not even be kept in the archive, by pseudonym."""
    return frozenset(d.person for d in decisions if d.action == "erase")
