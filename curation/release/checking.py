"""``curation release check``: a release folder, ours or another's, and its findings.

``check`` reads the folder and checks its files, with the modules ``check_cats``, ``check_metadata``
and ``check_privacy``. ``check_release`` adds what needs other stages: pitfalls, artefact baselines,
near repeats, and the proof of a revealed release.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from curation.campaign.source import FORM
from curation.campaign.store import SETTINGS, Campaign, open_campaign
from curation.campaign.versions import ANONYMOUS, built_versions
from curation.catsets.stereoset import read_entries
from curation.files import CurationError, read_bytes, read_text
from curation.formats.tables import read_json_lines
from curation.measures.pitfalls import pitfalls
from curation.records import Cat, CatAssociation, Severity
from curation.release import check_cats, check_metadata, check_privacy
from curation.release.anonymous import identifying_names, scan
from curation.release.check_privacy import find_quotations
from curation.release.near import Pair, near
from curation.released.commitments import find_unlike, published_gold, read_golds, verify
from curation.released.contents import FACTS, REVEAL, PublishedCat
from curation.released.findings import Finding, finding, in_order, listed, strictly
from curation.released.folder import (
    Release,
    read_release,
    refuse_no_folder,
)
from curation.released.seen import from_item
from curation.released.versions import read_commitments
from curation.scores.results import measured_baselines
from curation.stats.artefacts import artefacts
from curation.text.rules import stable_id
from curation.text.wording import amount, some
from curation.work.engine import own_workers, uncollected
from curation.work.reporter import QUIET, Reporter

GOLD = "7-release/gold-VERSION.jsonl"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,3}")
_CODES = 12  # pitfalls that a finding names


@dataclass(frozen=True)
class Checked:
    """What was read of a release, the CATs whose gold labels are known, and sealed texts."""

    release: Release
    cats: list[Cat]
    language: str
    sealed: list[PublishedCat]


def folder_of(campaign: Campaign, version: str = "") -> Path:
    """The folder of a built version; by default of the one that the settings name.

    Raises:
        CurationError: it is not built.
    """
    name = version or campaign.settings.release.version
    folder = campaign.folder("release") / name
    if "/" in name or name.startswith(".") or not folder.is_dir():
        built = some([place.name for place in built_versions(campaign)], 8)
        fix = f"«curation release build», or name one of: {built}"
        fix = fix if built else "run «curation release build» first"
        raise CurationError(f"version {name} is not built", fix)
    return folder


def named_folder(name: str, campaign: Path) -> Path:
    """The folder that a user names: a path, or a version of the campaign.

    Args:
        name: the path or the version; empty is the version that the campaign's settings name.
        campaign: the campaign's folder; not looked at if there is such a path.

    Raises:
        CurationError: there is no such folder.
    """
    if name and ("/" in name or Path(name).exists()):
        return Path(name)
    try:
        opened = open_campaign(campaign)
    except CurationError as error:
        if not name:
            raise
        fix = "name the folder of a release, or the campaign's folder with --campaign"
        raise CurationError(f"{name}: no such folder, and {error.what}", fix) from None
    return folder_of(opened, name)


CHECKS: tuple[Callable[[Release], Iterator[Finding]], ...] = (
    check_cats.check_sums,
    check_cats.check_canonical,
    check_cats.check_cats,
    check_cats.check_labels,
    check_metadata.check_cards,
    check_metadata.check_metadata,
    check_privacy.check_privacy,
    check_privacy.check_hidden,
)

_WHOLE = frozenset({"part_missing", "card_incomplete", "no_config"})
"""What is said of a release that is not whole; revealed gold labels are published beside one."""


def check(folder: Path) -> tuple[Release, list[Finding]]:
    """Check the files of a release folder: all that needs no other stage.

    Args:
        folder: the folder of a release.

    Returns:
        What was read, and the findings.

    Raises:
        CurationError: it is not a folder, is empty, or may not be read.
    """
    release, findings = read_release(folder)
    for each in CHECKS:
        findings += each(release)
    if REVEAL in release.files and not release.ours:
        findings = [found for found in findings if found.code not in _WHOLE]
    # A file that cannot be read is found by several checks: the first one says it.
    unreadable = {found.where: found for found in reversed(findings) if found.code == "unreadable"}
    return release, [f for f in findings if f.code != "unreadable" or unreadable[f.where] is f]


@uncollected()
def check_release(
    folder: Path,
    *,
    strict: bool = False,
    public: Path | None = None,
    against: Sequence[Path] = (),
    language: str = "",
    campaign: Path | None = None,
    reporter: Reporter = QUIET,
) -> list[Finding]:
    """Check a release folder.

    Args:
        folder: the folder of a release.
        strict: whether an open question of the data statement blocks.
        public: the public side of the same release, if this one has revealed gold labels.
        against: files of public CATs, which the test set should not repeat.
        language: language code of the texts; by default the one that the release names, else that
            of the campaign, else en.
        campaign: the folder of a campaign, if there is one.
        reporter: where progress goes.

    Returns:
        The findings, the most severe first.

    Raises:
        CurationError: a folder or a file of ``against`` cannot be read.
    """
    if public is not None:
        refuse_no_folder(public)
    reporter.note(f"reading {folder}")
    release, findings = check(folder)
    release.annotations = release.repeated = None  # checked; what follows needs the memory
    release.forms = {name: form for name, form in release.forms.items() if form is release.main}
    sealed = _sealed(release)
    findings += find_quotations(release, (cat.context for cat in sealed))
    findings += find_quotations(
        release, (option.sentence for cat in sealed for option in cat.options)
    )
    checked = Checked(release, _cats(release), language or _language(release, campaign), sealed)
    findings += _anonymous(release)
    others: list[Finding] = []

    def look() -> None:
        others.extend(_near_repeats(checked, against, reporter))
        others.extend(_baselines(checked, reporter))

    findings += _pitfalls(checked, reporter, meanwhile=look)
    findings += others
    if public is not None:
        findings += _revealed(checked, public)
    return in_order(strictly(findings) if strict else findings)


def _sealed(release: Release) -> list[PublishedCat]:
    """The CATs of a sealed test set if the release is beside its private gold file."""
    folder = release.root.resolve()
    path = folder.parent / f"gold-{folder.name.removesuffix(ANONYMOUS)}.jsonl"
    golds = read_golds(path) if release.sealed is not None and path.is_file() else []
    return [published_gold(gold, "test") for gold in golds]


def counts(findings: Sequence[Finding]) -> dict[Severity, int]:
    """The number of findings of each severity."""
    tally = Counter(finding.severity for finding in findings)
    return {severity: tally[severity] for severity in ("block", "warn", "note")}


def _language(release: Release, campaign: Path | None) -> str:
    if release.facts:
        return release.facts.language
    given = ((release.card and release.card.data) or {}).get("language")
    first = given[:1] if isinstance(given, list) else [given]
    for name in (*first, *(settings.language for settings in release.settings)):
        if isinstance(name, str) and _LANGUAGE.fullmatch(name):
            return name
    if campaign is None or not (campaign / SETTINGS).exists():
        return "en"
    return open_campaign(campaign).settings.campaign.language


def _cats(release: Release) -> list[Cat]:
    """The CATs with known gold labels; a damaged one is reported elsewhere."""
    cats: dict[str, Cat] = {}
    for seen in (seen for seen in release.main if seen.whole):
        with suppress(ValidationError):
            cats.setdefault(seen.id, _cat(seen))
    return list(cats.values())


def _cat(seen: PublishedCat) -> Cat:
    options = (
        {"id": option.id or f"{seen.id}-{n}", "sentence": option.sentence, "gold": option.gold}
        for n, option in enumerate(seen.options)
    )
    own = {name: getattr(seen, name) for name in ("id", "kind", "domain", "target", "context")}
    own |= {"term": stable_id("term", seen.domain, seen.target), "family": seen.target}
    own |= {"split": "dev" if seen.split == "dev" else "test"}
    own["associations"] = tuple(map(CatAssociation.model_validate, options))
    return Cat.model_validate(own)


# --- pitfalls and baselines -----------------------------------------------------------------------


def _pitfalls(
    checked: Checked, reporter: Reporter, *, meanwhile: Callable[[], None]
) -> Iterator[Finding]:
    """The pitfalls of the CATs; ``meanwhile`` is called while other processes look for them."""
    release = checked.release
    if release.hidden:
        detail = "their pitfalls and baselines are not checked: this needs gold labels"
        fix = f"«curation measures pitfalls --gold {GOLD}»"
        yield finding("not_read", "hidden CATs", detail, fix=fix)
    if not checked.cats:
        meanwhile()
        return
    known = release.facts.pitfalls if release.facts else ()
    off = {  # what the campaign does not check, with the reason
        code: f"{setting} = false"
        for code, setting in FORM.items()
        if any(not getattr(settings, setting) for settings in release.settings)
    }
    other_names: dict[str, tuple[str, ...]] = {}
    for settings in release.settings:
        for domain, targets in settings.names.items():
            for target, texts in targets.items():
                term = stable_id("term", domain, target)
                other_names[term] = (*other_names.get(term, ()), *texts)
    with reporter.stages() as tell:
        report = pitfalls(
            checked.cats,
            language=checked.language,
            off=off | {row.code: row.why for row in known if row.why},
            names=other_names,
            workers=own_workers(),
            meanwhile=meanwhile,
            tell=tell,
        )
    found = [row for row in report.table if row.count]
    for row in (row for row in found if row.severity == "block"):
        accepted = any(row.code == own.code and own.accepted for own in known)
        code = "pitfall_accepted" if accepted else "pitfall_blocks"
        first = next(hit for hit in report.hits if hit.code == row.code)
        detail = f"{row.count} of {row.of}, such as {first.where}: {first.detail}"
        yield finding(code, row.code, detail[:300])
    if warned := [f"{row.code} {row.count}" for row in found if row.severity == "warn"]:
        yield finding("pitfalls", "the texts", some(warned, _CODES))


def _baselines(checked: Checked, reporter: Reporter) -> Iterator[Finding]:
    test = [cat for cat in checked.cats if cat.split == "test"]
    cats = test or checked.cats
    if not cats:
        return
    reporter.note("scoring the artefact baselines")
    for result in measured_baselines(
        cats, artefacts(cats, language=checked.language), overall=True
    ):
        rows = ", ".join(
            f"{row['kind']} {row['figure']} {row['value']:.1f} "
            f"({row['ci'][0]:.1f} to {row['ci'][1]:.1f})"
            for row in result["beyond_chance"]
        )
        if rows:
            detail = f"{result['says']}: {rows} on {'test' if test else 'dev'}"
            yield finding("baseline", result["model"], detail)


# --- near repeats ---------------------------------------------------------------------------------


def _near_repeats(checked: Checked, files: Sequence[Path], reporter: Reporter) -> Iterator[Finding]:
    """CATs of test that nearly repeat CATs of dev, or public CATs."""
    main = checked.release.main
    test: Sequence[PublishedCat] = [cat for cat in main if cat.split == "test"] or checked.sealed
    if dev := [cat for cat in main if cat.split == "dev"]:
        reporter.note("comparing test with dev")
        _, pairs = near(test, {"dev": dev})
        yield from _alike("near_repeat", pairs)
    for path in files:
        reporter.note(f"comparing with {path}")
        public = [from_item(entry.item, entry.kind, "", "") for entry in read_entries(path)]
        _, pairs = near(test or main, {str(path): public})
        yield from _alike("near_public", pairs)


def _alike(code: str, pairs: Sequence[Pair]) -> Iterator[Finding]:
    shown = [f"{pair.cat} and {pair.other}" for pair in pairs]
    says = f"{amount(len(pairs), 'CAT')}: {{places}}"
    yield from listed(code, pairs[0].place if pairs else "", shown, says)


# --- hidden and anonymous releases ----------------------------------------------------------------


def _revealed(checked: Checked, public: Path) -> Iterator[Finding]:
    """Whether the gold labels are those that the public side committed to."""
    proof, hidden = checked.release.root / REVEAL, read_commitments(public)
    if not hidden:
        fix = "name the public folder of the version"
        raise CurationError(f"{public}: has no hidden CATs", fix)
    rows = [row for _, row in read_json_lines(read_text(proof), proof)]
    problems = verify(hidden, rows) + find_unlike(checked.cats, rows)
    yield from listed("not_as_committed", REVEAL, problems)


def _anonymous(release: Release) -> Iterator[Finding]:
    """Whether an anonymous release has names or addresses; only its build knows all names."""
    facts = release.facts
    if facts is None or not facts.anonymous:
        return
    secrets = identifying_names(facts.statement)
    content = {name: read_bytes(release.root / name) for name in release.files}
    places = [place for place in scan(content, secrets) if place.blocks]
    yield from listed("not_anonymous", FACTS, secrets, "{places}")
    shown = [f"{place.path} line {place.line}: {place.found}" for place in places]
    yield from listed("not_anonymous", "the files", shown)
