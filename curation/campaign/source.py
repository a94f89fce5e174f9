"""The source of CATs: a campaign or gold files, behind one interface.

Commands that take ``--campaign`` or ``--gold`` read their CATs like this::

    source = open_source(campaign, gold=gold, scores=scores)
    source = source.in_split(split).of_kind(kind).in_tier(tier, reporter)

``source.cats`` are then the CATs to work on, ``source.split`` names them in titles, and
``source.scores`` is the folder of their models' runs. ``open_source`` only reads: if the CATs must
be up to date, bring the campaign's step «split» up to date first. Commands that take gold files
alone call ``read_gold``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from curation.campaign.store import Campaign, open_campaign
from curation.catsets.stereoset import of_tier, read_cats, read_gold_file
from curation.checks.lists import is_not_english
from curation.files import CurationError
from curation.kinds import KINDS, Kind
from curation.records import Cat, Fields
from curation.text.rules import stable_id
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

SAMPLE = 1000  # CATs whose contexts show the language
ALL = "all"  # the name of all splits together
FORM = {
    "target_missing": "name_target",
    "target_renamed": "name_target",
    "blank_glued": "blank_alone",
}
"""The pitfalls that a setting in [rounds] allows."""


@dataclass(frozen=True)
class Source:
    """CATs, and what belongs to them.

    Attributes:
        cats: the CATs.
        split: what titles call them: test, dev or all; of gold files, their names joined by «+».
        language: language code of their texts.
        scores: the folder of their models' runs, MODEL/RULE/scores.jsonl.
        gold: the gold files they were read from; empty for a campaign.
        campaign: the campaign they were read from; None for gold files.
        off: pitfalls that are not checked because of the gold files' settings, with the reason.
        names: by term id, old names and spellings of targets that the gold files use.
        kind: the kind that ``of_kind`` chose; None if the CATs of all kinds are there.
        original_targets: of ``by_original``, how many CATs have an original target (``cats``), and
            how many have none and keep their own (``own``); None for the CATs' own targets.
        assumed: whether nothing names the language, so that it is taken to be English.
    """

    cats: Sequence[Cat]
    split: str
    language: str
    scores: Path
    gold: tuple[Path, ...] = ()
    campaign: Campaign | None = None
    off: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kind: Kind | None = None
    original_targets: Mapping[str, int] | None = None
    assumed: bool = False

    def warn_of_language(self, reporter: Reporter) -> None:
        """Warn if nothing names the language of the texts, and they plainly are not English."""
        texts = (cat.context for cat in self.cats[:SAMPLE])
        if self.assumed and is_not_english(texts):
            reporter.warn(
                f"the texts are measured as English, and are not: {self.gold[0].name} does not "
                "name their language; give --language"
            )

    def allowed(self) -> Fields:
        """What pitfalls depend on: other names of targets, and pitfalls that are not checked."""
        if self.campaign is None:
            return {"names": self.names, "off": self.off}
        there = (self.campaign.folder("terms") / "targets.jsonl").exists()
        terms = self.campaign.terms.values() if there else ()
        return {
            "names": {term.id: term.names for term in terms},
            "off": unchecked_pitfalls(self.campaign),
        }

    def in_split(self, split: str | None) -> "Source":
        """The CATs of one split.

        Args:
            split: test, dev or all; None is a campaign's test split, and all CATs of gold files.

        Raises:
            CurationError: the split has no CAT, or gold files were asked for a split.
        """
        if self.gold:
            if split:
                raise CurationError(
                    "--split needs a campaign: gold files do not say which split a CAT is in",
                    "leave --split out, and name the gold file of the split that you want",
                )
            return self
        name = split or "test"
        cats = [cat for cat in self.cats if name in (ALL, cat.split)]
        if not cats:
            raise CurationError(f"there is no CAT in the split «{name}»", "use --split all")
        return replace(self, cats=cats, split=name)

    def in_tier(self, tier: int | None, reporter: Reporter = QUIET) -> "Source":
        """The CATs of a tier or above; warns of CATs whose votes are not known.

        Args:
            tier: the lowest tier; None keeps all CATs.
            reporter: where the warning goes.

        Raises:
            CurationError: no CAT is of that tier.
        """
        cats, unknown = of_tier(self.cats, tier)
        if unknown:
            reporter.warn(
                f"--tier {tier}: {amount(unknown, 'CAT is', 'CATs are')} left out: the votes are "
                "not known"
            )
        return replace(self, cats=cats)

    def of_kind(self, kind: Kind | None) -> "Source":
        """The CATs of one kind.

        Args:
            kind: intrasentence or intersentence; None keeps all CATs.

        Raises:
            CurationError: there is no CAT of this kind.
        """
        if kind is None:
            return self
        cats = [cat for cat in self.cats if cat.kind == kind]
        if not cats:
            there = " and ".join(k for k in KINDS if any(cat.kind == k for cat in self.cats))
            raise CurationError(
                f"there is no {kind} CAT, only {there} CATs", "give another --kind, or leave it out"
            )
        return replace(self, cats=cats, kind=kind)

    def by_original(self, reporter: Reporter = QUIET) -> "Source":
        """The CATs grouped by the target of the dataset that theirs was translated from.

        The original target replaces a CAT's target, term and family, so that results by term, and
        means over terms, are over original targets. A CAT without one keeps its own target.

        Args:
            reporter: receives a note of how many CATs keep their own target.

        Raises:
            CurationError: no CAT has an original target.
        """
        own = sum(cat.target_original is None for cat in self.cats)
        if own == len(self.cats):
            raise CurationError(
                "--original-targets: no CAT has an original target",
                "leave the option out, or give data with the field «target_original»",
            )
        if own:
            reporter.note(
                f"--original-targets: {amount(own, 'CAT has', 'CATs have')} no original target and "
                f"{'keeps its' if own == 1 else 'keep their'} own"
            )
        cats = [
            cat.model_copy(
                update={
                    "target": cat.target_original,
                    "term": stable_id("term", cat.domain, cat.target_original),
                    "family": cat.target_original,
                }
            )
            if cat.target_original is not None
            else cat
            for cat in self.cats
        ]
        counts = {"cats": len(cats) - own, "own": own}
        return replace(self, cats=cats, original_targets=counts)


def unchecked_pitfalls(campaign: Campaign) -> dict[str, str]:
    """The pitfalls that a team allows by its settings, and so in a release, too."""
    rounds = campaign.settings.rounds
    return {
        code: f"{name} = false in [rounds]"
        for code, name in FORM.items()
        if not getattr(rounds, name)
    }


def open_source(
    campaign: Campaign | Path = Path(),
    *,
    gold: Sequence[Path] | None = None,
    scores: Path = Path("scores"),
    language: str = "",
    reporter: Reporter = QUIET,
) -> Source:
    """The CATs of a campaign, or of gold files if any are given.

    Args:
        campaign: the campaign or its folder; not looked at if gold files are given.
        gold: gold files.
        scores: the folder of runs on the gold files; a campaign has its own.
        language: language code of the texts; by default the one that the campaign or the gold
            files name, else en.
        reporter: receives notes on gold files in other layouts than StereoSet's.

    Raises:
        CurationError: there is no CAT; a file is not a gold file, or two of them overlap.
    """
    if gold:
        return gold_source(gold, scores=scores, language=language, reporter=reporter)
    opened = campaign if isinstance(campaign, Campaign) else open_campaign(campaign)
    path = opened.folder("decisions") / "cats.jsonl"
    if not path.exists():
        raise CurationError(f"{path}: there are no CATs yet", "run «curation decisions split»")
    source = campaign_source(opened, language=language)
    if not source.cats:
        raise CurationError(f"{path}: no CAT was kept", "collect more labels first")
    return source


def campaign_source(campaign: Campaign, *, language: str = "") -> Source:
    """The CATs that a campaign has kept; there may be none."""
    return Source(
        campaign.cats,
        ALL,
        language or campaign.settings.campaign.language,
        campaign.folder("scores"),
        campaign=campaign,
    )


def gold_source(
    gold: Sequence[Path],
    *,
    scores: Path = Path("scores"),
    language: str = "",
    reporter: Reporter = QUIET,
) -> Source:
    """The CATs of gold files; ``reporter`` receives notes on how they were read.

    A release's files say how their CATs were checked. A check that one of the files does not need
    is left out for all.

    Raises:
        CurationError: a file is not a gold file, or two of them overlap; or no language is given,
            and they are in different languages.
    """
    files = [read_gold_file(path) for path in gold]
    cats = _distinct([cat for file in files for cat in file.cats])
    settings = {path: file.settings for path, file in zip(gold, files, strict=True)}
    for note in dict.fromkeys(note for file in files for note in file.notes):
        reporter.note(note)
    languages = {file.language: path.name for path, file in settings.items() if file.language}
    if len(languages) > 1 and not language:
        named = ", ".join(f"{code} ({name})" for code, name in languages.items())
        raise CurationError(
            f"the gold files are in different languages: {named}",
            "name files in one language; or give --language, if the command has it",
        )
    names: dict[str, tuple[str, ...]] = {}
    for file in settings.values():
        for domain, targets in file.names.items():
            for target, texts in targets.items():
                term = stable_id("term", domain, target)
                names[term] = tuple(dict.fromkeys((*names.get(term, ()), *texts)))
    without = [
        f"in {path.name}, {amount(file.without_votes, 'CAT has', 'CATs have')} no votes"
        for path, file in settings.items()
        if file.without_votes
    ]
    return Source(
        cats,
        "+".join(path.stem for path in gold),
        language or next(iter(languages), "en"),
        scores,
        tuple(gold),
        off={
            code: f"{setting} = false in {path.name}"
            for path, file in settings.items()
            for code, setting in FORM.items()
            if not getattr(file, setting)
        }
        | ({"no_votes": "; ".join(without)} if without else {}),
        names=names,
        assumed=not (language or languages),
    )


def read_gold(paths: Sequence[Path]) -> list[Cat]:
    """Read the CATs of gold files.

    Raises:
        CurationError: a file is not a gold file, or a CAT or a sentence is in two of them.
    """
    return _distinct([cat for path in paths for cat in read_cats(path)])


def _distinct(cats: list[Cat]) -> list[Cat]:
    """CATs of several files, none of which is in two of them."""
    if not cats:
        raise CurationError("the gold files contain no CATs", "check that they are the right files")
    twice = [name for name, times in Counter(cat.id for cat in cats).items() if times > 1]
    if twice:
        raise CurationError(
            f"CAT {min(twice)} is in two gold files", "name each file once; they must not overlap"
        )
    ids = Counter(a.id for cat in cats for a in cat.associations)
    if len(ids) < ids.total():
        raise CurationError(
            f"sentence {ids.most_common(1)[0][0]} is in two gold files",
            "an id must belong to one sentence: give one of them another id",
        )
    return cats
