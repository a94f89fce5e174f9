"""The folder beside the report: a page for each term, and the list of all CATs."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign.source import Source
from curation.campaign.store import Campaign
from curation.files import CurationError, read_text
from curation.kinds import ITEMS
from curation.pages.sourced import Sourced, pairs
from curation.records import Cat, Fields
from curation.text.rules import stable_id
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from jinja2 import Environment

    from curation.scores.runs import Run
    from curation.text.rules import Votes


SEARCH = Path(__file__).parent / "static" / "search.js"
_INDENT = re.compile(r"\s*\n\s*")
_PLAIN = re.compile(r"[a-z0-9-]{1,100}")


def files(environment: "Environment", given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The path of each page in the report's folder, and what is in it.

    Args:
        environment: where templates are.
        given: what all templates have; ``terms`` of ``of("terms")`` is an object by their ids.
    """
    found: Sourced | None = given["of"]("terms")
    if not found or not found["terms"]:
        return
    script = slim(read_text(SEARCH))  # as it is in the page: its digest is there
    allowed = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    yield (
        "cats.html",
        environment.get_template("cats.html").render(given, script=script, allowed=allowed),
    )
    template = environment.get_template("term.html")
    for name, term in pairs(found["terms"]):
        yield f"terms/{file(name)}", template.render(given, term=term, runs=list(found["runs"]))


def file(term: str) -> str:
    """The name of a term's page; an id that could be another path is replaced.

    >>> file("term-5917ec1f"), file("../Up")
    ('term-5917ec1f.html', 'page-ca16e22d7dcd7393732f.html')
    """
    return f"{term if _PLAIN.fullmatch(term) else stable_id('page', term)}.html"


def slim(page: str) -> str:
    """A page without its indents, which are a quarter of it."""
    return _INDENT.sub("\n", page)


def choosing(runs: list[str], letters: str, letter: str) -> list[str]:
    """The runs that have a letter.

    >>> choosing(["a", "b"], "st", "t")
    ['b']
    """
    return [run for run, own in zip(runs, letters, strict=True) if own == letter]


def numbers(source: Source, reporter: Reporter = QUIET, *, private: bool) -> Fields:
    """The terms of a source with their CATs.

    Args:
        source: the CATs; while gold labels are hidden, only those whose labels are public.
        reporter: receives a warning about runs that cannot be read.
        private: also what the writers of the CATs meant.

    Returns:
        ``runs``, the names of runs, and ``terms``, an object by the term's id: ``target``,
        ``domain``, ``split``, ``name`` (``domain/target``), ``agreement`` (as in
        ``scores.terms.Agreement``; None if it is not known), and ``cats``. Each of these has
        ``id``, ``kind``, ``split``, ``tier``, ``context``, ``associations`` (sentence, gold label,
        ``votes`` in the order of ``records.VALUES`` or None, ``intent`` if private); and
        ``likelier`` and ``unrelated``, with a letter for each of ``runs``: whether the run found
        the stereotype (s) or the anti-stereotype (a) likelier, or tied (t), and whether it found
        the unrelated association as likely as one of these (u) or not (m); «-» if it has no score.
    """
    from curation.scores.comparing import read_agreement

    votes, agreement = _votes(source), read_agreement(source) if source.cats else {}
    meant = _intents(source.campaign) if private and source.campaign else {}
    runs = _runs(source, reporter)
    chosen = _choices(source.cats, runs)
    made: dict[str, Fields] = {}
    for cat, choices in zip(source.cats, chosen, strict=True):
        name = f"{cat.domain}/{cat.target}"
        agreed = agreement.get(name)
        term = made.setdefault(
            cat.term,
            {
                "target": cat.target,
                "domain": cat.domain,
                "split": cat.split,
                "name": name,
                "agreement": agreed._asdict() if agreed else None,
                "cats": [],
            },
        )
        term["cats"].append(_cat(cat, votes, meant) | choices)
    ordered = dict(sorted(made.items(), key=lambda pair: (pair[1]["name"], pair[0])))
    return {"runs": [run.name for run in runs], "terms": ordered}


def _cat(cat: Cat, votes: "Mapping[str, Votes]", meant: Mapping[str, str | None]) -> Fields:
    by_gold = {a.gold: a for a in cat.associations}
    associations = [
        {"sentence": a.sentence, "gold": gold, "votes": votes.get(a.id)}
        | ({"intent": meant[a.id]} if a.id in meant else {})
        for gold in ITEMS[cat.kind].roles
        for a in [by_gold[gold]]
    ]
    about = cat.model_dump(include={"id", "kind", "split", "tier", "context"})
    return about | {"associations": associations}


def _votes(source: Source) -> "dict[str, Votes]":
    """The counted votes of each association that has some."""
    from curation.catsets.stereoset import read_cat_entries, votes

    if source.campaign is None:
        entries = (entry for path in source.gold for entry in read_cat_entries(path))
        made = {str(s["id"]): votes(s) for e in entries for s in e.item["sentences"]}
    else:
        made = {v.id: v.votes for each in source.campaign.decisions for v in each.verdicts}
    return {name: counted for name, counted in made.items() if sum(counted)}


def _intents(campaign: Campaign) -> dict[str, str | None]:
    """What the writer of each association meant."""
    return {a.id: a.intent for item in campaign.items for a in item.associations}


def _runs(source: Source, reporter: Reporter) -> "Sequence[Run]":
    from curation.scores.results import current_runs, read_runs
    from curation.scores.run_folder import has_runs

    if not has_runs(source.scores):
        return []
    try:
        runs = read_runs(source.scores, reporter=reporter)
    except CurationError as error:
        reporter.warn(f"the report does not say what models chose: {error.what}")
        return []
    return current_runs(runs, source.cats, reporter=reporter)


def _choices(cats: Sequence[Cat], runs: "Sequence[Run]") -> list[dict[str, str]]:
    """What each run chose in each CAT: a letter for each run, in their order."""
    from curation.scores.boards import won

    sides, sensible = [[""] * len(runs) for _ in cats], [[""] * len(runs) for _ in cats]
    for number, run in enumerate(runs):
        meaningful, stereotype, _ = won(cats, run)
        for place, (both, side) in enumerate(zip(meaningful, stereotype, strict=True)):
            sides[place][number] = _likelier(side)
            sensible[place][number] = "-" if isnan(both) else "u" if both < 2 else "m"
    return [
        {"likelier": "".join(own), "unrelated": "".join(other)}
        for own, other in zip(sides, sensible, strict=True)
    ]


def _likelier(side: float) -> str:
    """What a run found likelier, from the share of the stereotype's comparison that it won.

    It is NaN if the run lacks the CAT.
    """
    if isnan(side):
        return "-"
    return "t" if side == 0.5 else "s" if side > 0.5 else "a"
