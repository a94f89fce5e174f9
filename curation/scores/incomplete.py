"""Runs and predictions that lack CATs: added or changed later, or left out."""

import hashlib
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from curation.files import CurationError
from curation.models.rules import profiles_of
from curation.records import KINDS, Cat, Fields
from curation.scores.run_folder import ENSEMBLE, arguments
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.scores.runs import Run


def cats_digest(cats: Sequence[Cat]) -> str:
    """The sha256 of everything in the CATs that a run's results depend on.

    That is their texts and gold labels, and their kinds, domains, targets and splits. The order of
    the CATs does not count.
    """
    rows = sorted(
        orjson.dumps(
            [
                *(cat.id, cat.kind, cat.domain, cat.target, cat.split, cat.context),
                sorted((a.id, a.sentence, a.gold) for a in cat.associations),
            ]
        )
        for cat in cats
    )
    return hashlib.sha256(b"\n".join(rows)).hexdigest()


def scored_cats(cats: Sequence[Cat]) -> Fields:
    """What ``results.json`` says about the CATs that it is of: ``{"cats", "sha256"}``."""
    return {"cats": len(cats), "sha256": cats_digest(cats)}


class Missing(NamedTuple):
    """The CATs that a run has no score or comparison of, and no refusal; and those of its kinds.

    Kinds of which it has no score at all do not count. ``bad`` is how many of ``cats`` have a
    prediction that is not a finite number.
    """

    cats: frozenset[str]
    of: int
    bad: int = 0


def missing_cats(run: "Run", cats: Sequence[Cat]) -> Missing:
    """The CATs that a run was not scored on, although it has others of the same kind.

    Args:
        run: from ``runs.current``.
        cats: the CATs.
    """
    excused = set(run.about.get("left_out_cats") or ())
    kinds = {cat.kind for cat in cats if run.has_part(cat)}
    own = [cat for cat in cats if cat.kind in kinds]
    lacks = [cat for cat in own if cat.id not in excused and not run.was_asked(cat)]
    bad = sum(any(a.id in run.bad for a in cat.associations) for cat in lacks)
    return Missing(frozenset(cat.id for cat in lacks), len(own), bad)


class Common(NamedTuple):
    """Runs that can be compared, and the CATs to compare them on.

    Attributes:
        cats: the CATs that none of the runs lacks.
        runs: the runs, without those that are left out.
        missing: of each run that lacks CATs, by its name.
        left_out: the names of the runs that are left out, because they lack more than half.
    """

    cats: list[Cat]
    runs: "list[Run]"
    missing: dict[str, Missing]
    left_out: list[str]


def common(cats: Sequence[Cat], runs: "Sequence[Run]") -> Common:
    """The CATs on which runs can be compared, if some of the runs lack CATs.

    A run that lacks more than half of the CATs is left out, unless all do: its scoring has probably
    not ended. Predictions are never left out. CATs that another run lacks are left out for all
    runs.

    Args:
        cats: the CATs.
        runs: from ``runs.current``.

    Raises:
        CurationError: no CAT is left.
    """
    found = {run.name: missing_cats(run, cats) for run in runs}
    lacking = (run for run in runs if len(found[run.name].cats) > found[run.name].of / 2)
    most = {run.name for run in lacking if run.refused is not None}
    if not any(run.name not in most and any(map(run.has_part, cats)) for run in runs):
        most = set()
    kept = [run for run in runs if run.name not in most]
    gone = {cat for run in kept for cat in found[run.name].cats}
    left = [cat for cat in cats if cat.id not in gone]
    if cats and not left:
        raise CurationError(
            f"the runs have none of the benchmark's {amount(len(cats), 'CAT')} in common",
            "score the models again",
        )
    some = {name: lacks for name, lacks in found.items() if lacks.cats}
    return Common(left, kept, some, [run.name for run in runs if run.name in most])


def again(about: Mapping[str, Any]) -> str:
    """The command that scores a model, or fits an ensemble, again.

    Args:
        about: the content of its ``run.json``. It does not have the folder of a model, so the
            command has the model's name, and FOLDER if the model was in one.

    >>> again({"model": "small", "family": "causal", "rules": {"intersentence": "nsp"}})
    'curation scores models small --rule nsp'
    >>> again({"model": "talker", "family": "chat", "url": "example.org"})
    'curation scores models chat:talker --endpoint URL'
    """
    model = str(about.get("model") or "MODEL")
    words = ["curation", "scores"]
    if about.get("family") == ENSEMBLE:
        words += ["ensemble", *map(str, about.get("members") or ()), "--name", model]
        for option in ("objective", "ties", "seed"):
            words += [f"--{option}", str(about[option])] if option in about else []
        return shlex.join(words)
    if about.get("family") == "chat":
        return shlex.join([*words, "models", *arguments(model, about)]) + (
            " --endpoint URL" if about.get("url") else ""
        )
    local = str(about.get("revision") or "").startswith("sha256:")
    words += ["models", f"{model}=FOLDER" if local else model]
    rules = dict(about.get("rules") or {})
    profiles = profiles_of(str(about.get("family", "")), rules)
    if len(set(rules.values())) == 1 and "default" not in profiles:
        words += ["--rule", next(iter(rules.values()))]
    elif profiles and "default" not in profiles:
        words += ["--profile", profiles[0]]
    words += ["--variant", str(about["variant"])] if about.get("variant") else []
    text = shlex.join(words)
    text += " --nsp DIR" if about.get("nsp") else ""
    text += " --accept-own-head" if about.get("own_head") else ""
    return text + (" --endpoint URL" if about.get("family") == "endpoint" else "")


def left_out(cats: Sequence[Cat], kept: Sequence[Cat], *, bad: Collection[str] = ()) -> Fields:
    """How many CATs are left out because one of their sentences has no score.

    Args:
        cats: all CATs.
        kept: those that have all three scores.
        bad: the ids of sentences whose score is not a finite number.

    Returns:
        ``{"left_out", "of", "bad", "kinds": {kind: {"left_out", "of", "domains": {domain:
        {"left_out", "of"}}}}, "terms": {"domain/target": {"left_out", "of"}}}``: how many CATs are
        left out, and how many there are. ``bad`` is how many of those that are left out have a
        score that is not a finite number. ``terms`` has only terms that lose a CAT.
    """
    there = {cat.id for cat in kept}
    gone = [cat for cat in cats if cat.id not in there]
    kinds: Fields = {}
    for kind in KINDS:
        lost, own = ([c.domain for c in part if c.kind == kind] for part in (gone, cats))
        if own:
            kinds[kind] = {"left_out": len(lost), "of": len(own), "domains": _counts(lost, own)}
    terms = _counts(map(_term, gone), map(_term, cats))
    return {
        "left_out": len(gone),
        "of": len(cats),
        "bad": sum(any(a.id in bad for a in cat.associations) for cat in gone),
        "kinds": kinds,
        "terms": {name: counts for name, counts in terms.items() if counts["left_out"]},
    }


def _term(cat: Cat) -> str:
    return f"{cat.domain}/{cat.target}"


def _counts(gone: Iterable[str], every: Iterable[str]) -> dict[str, dict[str, int]]:
    lost, of = Counter(gone), Counter(every)
    return {name: {"left_out": lost[name], "of": of[name]} for name in sorted(of)}
