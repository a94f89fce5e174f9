"""Whether a run was scored by the rule that a printed row's numbers follow."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from curation.models.rules import PROFILES
from curation.scores.printed import Printed, models
from curation.scores.runs import Run


class RowRules(NamedTuple):
    """A run's rules beside those of a printed row.

    Attributes:
        own: the run's rules, of each kind; empty if they are not known.
        table: the rules that the numbers may follow, of each kind; empty for baselines and
            ensembles.
        same: whether the run's are among them; None if either is not known.
        by_text: whether the run has the rules of the paper's text.
    """

    own: list[str]
    table: list[list[str]]
    same: bool | None
    by_text: bool


def row_rules(row: Printed, run: Run, kinds: Sequence[str]) -> RowRules:
    """A run's rules beside those of a printed row, for the kinds of the row."""
    own = [run.rules.get(kind, "") for kind in kinds] if run.rules else []
    text = _rules_of(row.profile, row)
    declared = _rules_of(run.profile, row) if run.profile else {}
    mine = [declared[kind] for kind in kinds] if declared else own
    table = []
    for profile in row.numbers if text else ():
        fits = text | {"intrasentence": _rules_of(profile, row)["intrasentence"]}
        table.append([fits[kind] for kind in kinds])
    same = (mine in table and not run.variant) if mine and table else None
    if run.profile and row.profile and not table:  # an ensemble
        same = run.profile in row.numbers
    by_text = bool(text) and not run.variant and mine == [text[kind] for kind in kinds]
    return RowRules(own, table, same, by_text)


def _rules_of(profile: str, row: Printed) -> dict[str, str]:
    """A profile's rules by kind for the model of a row; empty for baselines and ensembles.

    If the profile has none for it (``code`` for XLNet), they are the text's, with the name of the
    profile in place of the intrasentence rule.
    """
    family: Any = models()[row.model].family
    text = PROFILES.get(row.profile, {}).get(family, {})
    own = PROFILES.get(profile, {}).get(family) or {**text, "intrasentence": profile}
    return {str(kind): rule for kind, rule in own.items()} if text else {}


def table_rule(rules: RowRules) -> str:
    """The rules that the numbers follow, as tables show them.

    >>> table_rule(RowRules([], [["ll-arxiv", "nsp"], ["ll-code", "nsp"]], None, False))
    'll-arxiv or ll-code / nsp'
    """
    kinds = zip(*rules.table, strict=True)
    return " / ".join(dict.fromkeys(" or ".join(dict.fromkeys(kind)) for kind in kinds))
