"""The steps ``release`` and ``anonymous``: the published folder, and one for anonymous review.

First everything is checked and computed, then the line of ``built.jsonl`` is written, and then the
folder, which appears as a whole.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign.dataset import ANSWERED
from curation.campaign.datasets import (
    ANSWERS,
    CATS,
    DECISIONS,
    ITEMS,
    LABELS,
    PEOPLE,
    PLANNED,
    PLANS,
    REJECTED,
    SCORES,
    STANDING,
    TERMS,
    TEXTS,
)
from curation.campaign.manifest import file_names
from curation.campaign.step import Out, run_steps, step
from curation.campaign.store import Campaign
from curation.campaign.versions import BUILT, EARLIER, HIDE, ORDER, BuiltVersion, History, earlier
from curation.catsets.stereoset import read_entries
from curation.decisions.steps import AGREEMENT_REPORT
from curation.files import CurationError, read_bytes, read_json, writing
from curation.measures.steps import (
    PITFALL_REPORT,
    SENTIMENT_REPORT,
    SENTIMENT_SCORES,
    STATISTICS_REPORT,
)
from curation.records import Cat
from curation.release import collecting, hiding, statement, versions
from curation.release.collecting import ReleaseInputs
from curation.release.texts.licences import check_given
from curation.released.contents import FACTS, SPLITS, PublishedCat
from curation.released.facts import Near
from curation.released.seen import from_item
from curation.rounds.platforms.texts import DIFFERS, OWN_TEXTS
from curation.scores.run_folder import has_runs
from curation.text.wording import amount, did_you_mean, some
from curation.trust.steps import TRUST_REPORT
from curation.work.engine import uncollected
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.release.near import Pair

ONE_SPLIT = "domain_in_one_split"
"""The code in ``accept`` that lets a domain have all its CATs in one split."""
CODES = (DIFFERS, ONE_SPLIT, versions.MOVED, *hiding.CODES)
"""The codes in ``accept`` that are not those of pitfalls."""
_NAMED = 3  # domains that an error names


def check_settings(campaign: Campaign) -> None:
    """Check the settings in ``[release]``.

    Raises:
        CurationError: there is no licence, or an accepted code is unknown.
    """
    from curation.checks.codes import PITFALLS

    settings = campaign.settings.release
    check_given(settings.licence)
    known = [*PITFALLS, *CODES]
    for name in settings.accept:
        if name not in known:
            listed = "docs/settings.md and docs/measures.md list the codes"
            raise CurationError(
                f"[release] accept names {name!r}, which is not a code that can be accepted",
                did_you_mean(name, known, listed),
            )


def check_content(inputs: ReleaseInputs) -> None:
    """Check that no pitfall blocks the release, and that every domain has CATs in both splits.

    Raises:
        CurationError: something is wrong that ``accept`` does not name; the message has all codes.
    """
    accept = inputs.settings.release.accept
    pitfalls = {
        row.code: row.count
        for row in inputs.facts.pitfalls
        if row.severity == "block" and row.count and row.code not in accept
    }
    empty = [] if ONE_SPLIT in accept else _empty(inputs.cats)
    problems, fixes = [], []
    if pitfalls:
        counts = ", ".join(f"{code} {count}" for code, count in pitfalls.items())
        problems.append(
            f"pitfalls block the release: {counts}; 4-measures/pitfalls.jsonl lists each place"
        )
        fixes.append("fix the texts; or leave the items out (leave_out in [decisions])")
    if empty:
        problems.append(f"{ONE_SPLIT}: {some(empty, _NAMED)}")
        fixes.append("collect CATs on more terms, or set dev in [split]")
    if problems:
        codes = [*accept, *pitfalls, *([ONE_SPLIT] if empty else [])]
        listed = ", ".join(f'"{code}"' for code in codes)
        raise CurationError(
            "; ".join(problems),
            f"{'; '.join(fixes)}; or, if they are right as they are: accept = [{listed}] in "
            "[release]",
        )


def _empty(cats: Iterable[Cat]) -> list[str]:
    """The domains that have no CAT in a split."""
    terms: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for cat in cats:
        terms[cat.domain][cat.split].add(cat.term)
    return [
        f"{domain!r} has no CAT in {split} ({amount(sum(map(len, of.values())), 'term')} in all)"
        for domain, of in sorted(terms.items())
        for split in SPLITS
        if split not in of
    ]


@uncollected()
def _build(campaign: Campaign, out: Out, *, anonymous: bool = False) -> dict[str, int]:
    """Write the published folder, or the one for anonymous review."""
    from curation.release import build, differences, quality
    from curation.release.anonymous import anonymize, doubts, refusal, scan
    from curation.release.harness_files import refuse_kinds

    history = History(campaign)
    # Read all but runs, which take much memory.
    check_settings(campaign)
    inputs = collecting.read_inputs(campaign, out, anonymous=anonymous)
    # Check everything that forbids the release, before what takes long.
    check_content(inputs)
    first = versions.first_build(campaign, anonymous=anonymous)
    collecting.release_licence(inputs, first.date)
    whole, secrets = inputs.contents, inputs.secrets
    hiding.check_trust(history, inputs.facts.trust, whole)
    contents, golds = hiding.hide(history, whole, out, out)
    since = versions.changes(campaign, contents, whole if contents.sealed else None)
    versions.check_not_erased(campaign, anonymous=anonymous)
    counts = {
        "cats": len(contents.cats) + len(contents.sealed),
        "labels_in": inputs.labels_in,
        "labels_of_dropped_items": inputs.labels_of_dropped_items,
        "annotations": len(contents.annotations),
        "without_votes": len(contents.without_votes),
        "hidden": sum(cat.commitment is not None for cat in contents.cats) + len(contents.sealed),
    }
    # Compute.
    why = inputs.facts.sentiment_why
    scores = quality.read_scores(campaign, inputs.cats, why, out)
    facts = collecting.facts(inputs, scores, first, out)
    del inputs, scores  # CATs and runs take more memory than all that follows
    campaign.forget(CATS)
    facts = hiding.public_facts(history, facts, contents, golds, out, out)
    before = [place.name for place in earlier(campaign)]
    near, _ = near_public(history, whole.cats, versions=before)
    del history, whole
    for place in near if contents.sealed else ():
        if place.cats:
            out.warn(
                f"{amount(place.cats, 'sealed CAT')} nearly repeat public CATs of {place.place}, "
                "so their texts are known; «curation release near» lists them"
            )
    facts = facts.model_copy(update={"near": near, "changes": since[0] if since else None})
    if anonymous:
        facts = anonymize(facts, secrets)
    # Write.
    try:
        refuse_kinds("StereoSet's format", contents.kinds)
    except CurationError as refused:
        out.warn(f"the release has no dev.json, test.json and tasks for lm-eval: {refused.what}")
    with out.stages() as tell:
        errata_lines = differences.errata_text(since[1]).encode() if since else b""
        staged = out.new_folder(versions.version_name(campaign, anonymous=anonymous))
        for path, data in build.files(contents, facts, errata_lines=errata_lines, tell=tell):
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            with writing(staged / path) as file:
                file.write(data)
            del data
    if anonymous:
        places = scan({name: read_bytes(staged / name) for name in file_names(staged)}, secrets)
        if error := refusal(places):
            raise error
        if text := doubts(places):
            out.warn(text)
    versions.check_unchanged(campaign, staged, anonymous=anonymous)
    versions.record_build(campaign, first)
    models = {(row.model, row.rules) for row in facts.scores}
    return {**counts, "models": len(models), "open_questions": len(facts.open)}


_DECLARED: dict[str, Any] = {
    "folder": "release",
    "version": 9,
    "reads": (
        TERMS,
        ITEMS,
        LABELS,
        PEOPLE,
        ANSWERS,
        REJECTED,
        DECISIONS,
        AGREEMENT_REPORT,
        CATS,
        STATISTICS_REPORT,
        SENTIMENT_REPORT,
        SENTIMENT_SCORES,
        PITFALL_REPORT,
    ),
    "if_made": (TRUST_REPORT,),
    "as_it_is": (
        PLANS,
        PLANNED,
        ANSWERED,
        TEXTS,
        OWN_TEXTS,
        collecting.OWN_LICENCE,
        statement.STATEMENT,
        SCORES,
        collecting.MEASURED_WITH,
        HIDE,
        EARLIER,
    ),
    "history": (BUILT, ORDER, STANDING),
    "settings": (
        "campaign.name",
        "campaign.language",
        "campaign.seed",
        "split",
        "decisions",
        "rounds.published",
        "release.building",
        "measures.sentiment",
    ),
    "lasting": True,
}


@step("the published folder", blocked=versions.why_blocked, fixed=versions.is_taken, **_DECLARED)
def release(campaign: Campaign, out: Out) -> dict[str, int]:
    """Write the published folder."""
    return _build(campaign, out)


@step(
    "a folder for anonymous review",
    blocked=partial(versions.why_blocked, anonymous=True),
    fixed=partial(versions.is_taken, anonymous=True),
    **_DECLARED,
)
def anonymous(campaign: Campaign, out: Out) -> dict[str, int]:
    """Write the folder for anonymous review. Only «curation release build --anonymous» runs it."""
    return _build(campaign, out, anonymous=True)


_STEPS = {False: release, True: anonymous}


def near_public(
    history: History,
    cats: Sequence[PublishedCat],
    *,
    versions: Collection[str] = (),
    files: Iterable[Path] = (),
) -> tuple[tuple[Near, ...], list["Pair"]]:
    """How many test CATs nearly repeat CATs of each public place, and the pairs.

    The places are dev of the same release, versions, and files. The dev CATs of a version count.
    Its test CATs with gold labels count too if the test CATs are to be hidden, and all of its test
    CATs with texts if they are to be sealed.

    Args:
        history: the built versions.
        cats: the CATs of the release with the ids of the campaign, both splits.
        versions: the names of folders in ``7-release``, such as 0.1.0 or 0.1.0-revealed.
        files: files with CATs, in any layout.

    Raises:
        CurationError: a file cannot be read.
    """
    from curation.release.near import near

    places: dict[str, Sequence[PublishedCat]] = {"dev": [cat for cat in cats if cat.split == "dev"]}
    hide, built = history.hide, {place.folder.name: place for place in history.built}
    for name in versions:
        places[name] = [
            cat
            for cat in built[name].cats
            if cat.has_texts and (cat.split == "dev" or hide == "all" or (hide and cat.labelled))
        ]
    for path in files:
        items = (from_item(each.item, each.kind, "", "") for each in read_entries(path))
        places[str(path)] = [cat for cat in items if cat.has_texts]
        if not places[str(path)]:
            raise CurationError(
                f"{path}: no item has a context and sentences", "see docs/datasets.md"
            )
    return near([cat for cat in cats if cat.split == "test"], places)


class MadeRelease(NamedTuple):
    """A built version of the release.

    Attributes:
        folder: where it is.
        files: its files, by path in the folder.
        counts: as in the manifest: ``docs/commands.md``, under curation status.
        open: the keys of the questions that the team has not answered.
        next: what to do next, a sentence.
        board_rows: with hidden gold labels, how many rows a board can show; else None.
    """

    folder: Path
    files: list[str]
    counts: dict[str, int]
    open: list[str]
    next: str
    board_rows: int | None = None


def build_release(
    campaign: Campaign, *, anonymous: bool = False, reporter: Reporter = QUIET
) -> MadeRelease:
    """Build the version that the settings name, and all that it needs.

    Call it only under the campaign's lock.

    Args:
        campaign: the campaign.
        anonymous: build ``VERSION-anonymous`` for review.
        reporter: where warnings and progress go.

    Raises:
        CurationError: it cannot be built; nothing was written.
    """
    run = run_steps(campaign, _STEPS[anonymous], reporter=reporter)
    folder = versions.version_folder(campaign, anonymous=anonymous)
    asked = list(read_json(folder / FACTS).get("open", ()))
    where = campaign.relative(folder)
    then = _next(campaign, where, open_questions=len(asked), anonymous=anonymous)
    rows = None if anonymous else _board_rows(campaign)
    return MadeRelease(folder, file_names(folder), run.counts, asked, then, rows)


def _board_rows(campaign: Campaign) -> int | None:
    facts, history = BuiltVersion(versions.version_folder(campaign)).facts, History(campaign)
    secret = history.hidden.get(facts.version) if facts else None  # None if it is revealed
    if history.hide != "labels" or facts is None or secret is None:
        return None
    near = any(hiding.nearly_the_same(history, facts.version, secret))  # no board opens it
    return 0 if near else hiding.board_rows(history, facts)


def _next(campaign: Campaign, where: str, *, open_questions: int, anonymous: bool) -> str:
    missing = ""
    if not has_runs(campaign.folder("scores")):
        missing += "score models for the card («curation scores models MODEL»), "
    if open_questions:
        missing += (
            "answer the questions in 7-release/statement.toml («curation release statement» lists "
            "them), "
        )
    then = "send the folder to the reviewers" if anonymous else "publish the folder"
    check = f"«curation release check {where}», then {then}"
    again = "curation release build" + " --anonymous" * anonymous
    if missing:
        missing += f"delete {where} if nobody has it, and run «{again}»; or, if it is complete, "
    return missing + check
