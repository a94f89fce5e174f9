"""``curation release check``: a release folder, ours or another's, and its findings.

``release.check`` reads the folder and checks its files. What needs other stages is added here:
pitfalls, artefact baselines, near repeats, and the proof of a revealed release.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from curation.campaign import SETTINGS, Campaign, open_campaign
from curation.catsets.stereoset import read_entries
from curation.files import CurationError, read_bytes, read_json, read_text
from curation.formats.tables import read_json_lines
from curation.measures.pitfalls import pitfalls
from curation.records import Cat, CatAssociation, Severity
from curation.release import hub
from curation.release.anonymous import names, scan
from curation.release.check import check
from curation.release.check.privacy import quoted
from curation.release.contents import FACTS, REVEAL
from curation.release.facts import Facts, Hub
from curation.release.findings import Finding, finding, in_order, named, strictly
from curation.release.folder import (
    Release,
    committed,
    list_files,
    refuse_first,
    refuse_no_folder,
)
from curation.release.hidden.commitments import verify
from curation.release.near import Pair, Texts, near, texts_of
from curation.release.seen import Seen, from_item
from curation.scores.baselines import measured
from curation.stats.artefacts import artefacts
from curation.steps.release import hidden
from curation.steps.release.history import read_golds
from curation.steps.release.statement import read_statement
from curation.steps.release.versions import ANONYMOUS, built_versions
from curation.steps.source import FORM
from curation.steps.step import QUIET, Reporter
from curation.text.rules import stable_id
from curation.text.wording import amount, some
from curation.work.engine import own_workers, uncollected

GOLD = "7-release/gold-VERSION.jsonl"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,3}")
_CODES = 12  # pitfalls that a finding names


@dataclass(frozen=True)
class Checked:
    """What was read of a release, the CATs whose gold labels are known, and sealed texts."""

    release: Release
    cats: list[Cat]
    language: str
    sealed: list[Texts]


def folder_of(campaign: Campaign, version: str = "") -> Path:
    """The folder of a built version; by default of the one that the settings name.

    Raises:
        CurationError: it is not built.
    """
    name = version or campaign.settings.release.version
    folder = campaign.releases / name
    if "/" in name or name.startswith(".") or not folder.is_dir():
        built = [place.name for place in built_versions(campaign)]
        raise CurationError(
            f"version {name} is not built",
            f"«curation release build», or name one of: {some(built, 8)}"
            if built
            else "run «curation release build» first",
        )
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
    findings += quoted(release, (t for cat in sealed for t in (cat.context, *cat.sentences)))
    checked = Checked(release, _cats(release), language or _language(release, campaign), sealed)
    findings += _anonymous(checked)
    others: list[Finding] = []

    def look() -> None:
        others.extend(_near_repeats(checked, reporter))
        others.extend(_baselines(checked, reporter))
        others.extend(_against(checked, against, reporter))

    findings += _pitfalls(checked, reporter, meanwhile=look)
    findings += others
    if public is not None:
        findings += _revealed(checked, public)
    return in_order(strictly(findings) if strict else findings)


def _sealed(release: Release) -> list[Texts]:
    """The texts of a sealed test set if the release is beside its private gold file."""
    folder = release.root.resolve()
    path = folder.parent / f"gold-{folder.name.removesuffix(ANONYMOUS)}.jsonl"
    golds = read_golds(path) if release.sealed is not None and path.is_file() else []
    return [Texts(g.id, g.kind, g.context, tuple(o.sentence for o in g.sentences)) for g in golds]


def counts(findings: Sequence[Finding]) -> dict[Severity, int]:
    """The number of findings of each severity."""
    tally = Counter(finding.severity for finding in findings)
    return {"block": tally["block"], "warn": tally["warn"], "note": tally["note"]}


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
    cats = {}
    for seen in release.main:
        if seen.whole and seen.id not in cats:
            try:
                cats[seen.id] = _cat(seen)
            except ValidationError:
                continue
    return list(cats.values())


def _cat(seen: Seen) -> Cat:
    options = [
        CatAssociation.model_validate(
            {"id": option.id or f"{seen.id}-{n}", "sentence": option.sentence, "gold": option.gold}
        )
        for n, option in enumerate(seen.options)
    ]
    return Cat.model_validate(
        {
            "id": seen.id,
            "kind": seen.kind,
            "domain": seen.domain,
            "term": stable_id("term", seen.domain, seen.target),
            "target": seen.target,
            "family": seen.target,
            "split": seen.split if seen.split in ("dev", "test") else "test",
            "context": seen.context,
            "associations": tuple(options),
        }
    )


# --- pitfalls and baselines -----------------------------------------------------------------------


def _pitfalls(
    checked: Checked, reporter: Reporter, *, meanwhile: Callable[[], None]
) -> Iterator[Finding]:
    """The pitfalls of the CATs; ``meanwhile`` is called while other processes look for them."""
    if checked.release.hidden:
        detail = "their pitfalls and baselines are not checked: this needs gold labels"
        yield finding(
            "not_read", "hidden CATs", detail, fix=f"«curation measures pitfalls --gold {GOLD}»"
        )
    if not checked.cats:
        meanwhile()
        return
    facts = checked.release.facts
    accepted = {row.code for row in facts.pitfalls if row.accepted} if facts else set()
    with reporter.stages() as tell:
        report = pitfalls(
            checked.cats,
            language=checked.language,
            off=_off(checked.release),
            names=_other_names(checked.release),
            workers=own_workers(),
            meanwhile=meanwhile,
            tell=tell,
        )
    warned = []
    for row in report.table:
        if not row.count:
            continue
        detail = f"{row.count} of {row.of}"
        if row.severity == "block":
            code = "pitfall_accepted" if row.code in accepted else "pitfall_blocks"
            first = next(hit for hit in report.hits if hit.code == row.code)
            yield finding(code, row.code, f"{detail}, such as {first.where}: {first.detail}"[:300])
        elif row.severity == "warn":
            warned.append(f"{row.code} {row.count}")
    if warned:
        yield finding("pitfalls", "the texts", some(warned, _CODES))


def _off(release: Release) -> dict[str, str]:
    """The pitfalls that the campaign does not check, with the reason."""
    off = {
        code: f"{setting} = false"
        for code, setting in FORM.items()
        if any(not getattr(settings, setting) for settings in release.settings)
    }
    facts = release.facts
    return off | {row.code: row.why for row in (facts.pitfalls if facts else ()) if row.why}


def _other_names(release: Release) -> dict[str, tuple[str, ...]]:
    """By term id, the other names of targets that contexts may use."""
    by_term: dict[str, tuple[str, ...]] = {}
    for settings in release.settings:
        for domain, targets in settings.names.items():
            for target, texts in targets.items():
                term = stable_id("term", domain, target)
                by_term[term] = (*by_term.get(term, ()), *texts)
    return by_term


def _baselines(checked: Checked, reporter: Reporter) -> Iterator[Finding]:
    test = [cat for cat in checked.cats if cat.split == "test"]
    cats = test or checked.cats
    if not cats:
        return
    reporter.note("scoring the artefact baselines")
    for result in measured(cats, artefacts(cats, language=checked.language), overall=True):
        rows = [
            f"{row['kind']} {row['figure']} {row['value']:.1f} "
            f"({row['ci'][0]:.1f} to {row['ci'][1]:.1f})"
            for row in result["beyond_chance"]
        ]
        if rows:
            split = "test" if test else "dev"
            detail = f"{result['says']}: {', '.join(rows)} on {split}"
            yield finding("baseline", result["model"], detail)


# --- near repeats ---------------------------------------------------------------------------------


def _near_repeats(checked: Checked, reporter: Reporter) -> Iterator[Finding]:
    """CATs of test that nearly repeat CATs of dev."""
    dev = [texts_of(cat) for cat in checked.release.main if cat.split == "dev"]
    if dev:
        reporter.note("comparing test with dev")
        _, pairs = near(_test(checked), {"dev": dev})
        yield from _alike("near_repeat", pairs)


def _against(checked: Checked, files: Sequence[Path], reporter: Reporter) -> Iterator[Finding]:
    """CATs of test that nearly repeat public CATs."""
    test = _test(checked) or [texts_of(cat) for cat in checked.release.main]
    for path in files:
        reporter.note(f"comparing with {path}")
        public = [from_item(entry.item, entry.kind, "", "") for entry in read_entries(path)]
        _, pairs = near(test, {str(path): [texts_of(cat) for cat in public]})
        yield from _alike("near_public", pairs)


def _test(checked: Checked) -> list[Texts]:
    return [texts_of(c) for c in checked.release.main if c.split == "test"] or checked.sealed


def _alike(code: str, pairs: Sequence[Pair]) -> Iterator[Finding]:
    if pairs:
        shown = [f"{pair.cat} and {pair.other}" for pair in pairs]
        yield finding(code, pairs[0].place, f"{amount(len(pairs), 'CAT')}: {named(shown)}")


# --- hidden and anonymous releases ----------------------------------------------------------------


def _revealed(checked: Checked, public: Path) -> Iterator[Finding]:
    """Whether the gold labels are those that the public side committed to."""
    proof, hidden = checked.release.root / REVEAL, committed(public)
    if not hidden:
        fix = "name the public folder of the version"
        raise CurationError(f"{public}: has no hidden CATs", fix)
    rows = [row for _, row in read_json_lines(read_text(proof), proof)]
    problems = verify(hidden, rows)
    shown = {
        cat.id: [
            *(cat.kind, cat.domain, cat.target, cat.context),
            *((o.id, o.sentence, o.gold) for o in cat.options),
        ]
        for cat in checked.release.main
    }
    for row in rows:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            cat = json.loads(row["message"])
            options = [(o["id"], o["sentence"], o["gold_label"]) for o in cat["options"]]
            texts = [cat[name] for name in ("kind", "domain", "target", "context")]
            if shown.get(row["id"]) != [*texts, *options]:
                problems.append(
                    f"CAT {row['id']}: test.json has other texts or gold labels than the proof"
                )
    if problems:
        yield finding("not_as_committed", REVEAL, f"{len(problems)}: {named(problems)}")


def _anonymous(checked: Checked) -> Iterator[Finding]:
    """Whether an anonymous release has names or addresses; only its build knows all names."""
    facts = checked.release.facts
    if facts is None or not facts.anonymous:
        return
    root, secrets = checked.release.root, names(facts.statement)
    content = {name: read_bytes(root / name) for name in checked.release.files}
    places = [place for place in scan(content, secrets) if place.blocks]
    if secrets:
        yield finding("not_anonymous", FACTS, named(secrets))
    if places:
        shown = [f"{place.path} line {place.line}: {place.found}" for place in places]
        yield finding("not_anonymous", "the files", f"{len(places)}: {named(shown)}")


def push_target(campaign: Campaign, to: str = "") -> Hub:
    """The dataset on the hub that a release goes to, and who may download it.

    Args:
        campaign: the campaign.
        to: OWNER/NAME; by default ``[hub] id`` of ``7-release/statement.toml``.

    Raises:
        CurationError: neither names a dataset.
    """
    own = read_statement(campaign).hub
    name = to or own.id
    if not name:
        raise CurationError(
            "nothing says where the release goes on the hub",
            "give --to OWNER/NAME, or set id in [hub] of 7-release/statement.toml",
        )
    hub.check_name(name)
    return own.model_copy(update={"id": name})


def check_before(campaign: Campaign, version: str = "", reporter: Reporter = QUIET) -> Path:
    """The folder of a version that may be uploaded.

    Raises:
        CurationError: it is not built, is anonymous or not a whole release, has gold labels that
            another version hides, or its check blocks.
    """
    folder = folder_of(campaign, version)
    if folder.name.endswith("-anonymous"):
        raise _is_anonymous(folder)
    if not (folder / FACTS).exists():
        raise CurationError(
            f"{folder.name} is not a whole release: it has no release.json, and would replace one",
            "to publish revealed gold labels beside their release: hf upload OWNER/NAME "
            f"{folder} revealed --repo-type dataset",
        )
    hidden.check_upload(campaign, folder)
    findings = check_release(folder, reporter=reporter)
    blocking = [f"{f.code} ({f.where})" for f in findings if f.severity == "block"]
    if blocking:
        raise CurationError(
            f"{amount(len(blocking), 'finding blocks', 'findings block')} the upload of "
            f"{folder.name}: {some(blocking, 5)}",
            f"«curation release check {folder.name}» says what to do",
        )
    if Facts.model_validate(read_json(folder / FACTS)).anonymous:
        raise _is_anonymous(folder)
    if warned := counts(findings)["warn"]:
        reporter.warn(
            f"{amount(warned, 'warning')} about {folder.name}: «curation release check "
            f"{folder.name}» shows them"
        )
    return folder


def _is_anonymous(folder: Path) -> CurationError:
    return CurationError(
        f"{folder.name} is anonymous, and an account on the hub has a name",
        "give reviewers the folder itself; push the version when it may be named",
    )


def local_files(folder: Path) -> list[hub.Local]:
    """The files of a release folder, by path."""
    release = Release(folder)
    refuse_first(release, list_files(release))
    return [hub.Local(name, folder / name, size) for name, size in sorted(release.files.items())]


def planned_push(folder: Path, repo: str, *, reporter: Reporter = QUIET) -> list[hub.Planned]:
    """What an upload would do with each file; nothing is sent.

    If the hub cannot be reached, or there is no token, the state of the files is «unknown».

    Raises:
        CurationError: huggingface_hub is not installed, or the folder has a link.
    """
    files = local_files(folder)
    try:
        remote = hub.look(hub.open_hub(), repo)
    except CurationError as error:
        reporter.warn(f"not compared with the hub: {error.what}; {error.fix}")
        remote = None
    return hub.plan(files, remote)


def push(
    folder: Path,
    to: Hub,
    *,
    private: bool | None = None,
    tag: bool = True,
    token: str | None = None,
    reporter: Reporter = QUIET,
) -> hub.Pushed:
    """Upload a release folder that was checked; see ``hub.push``.

    Args:
        folder: of ``check_before``.
        to: of ``target``.
        private: whether only its owners see it; None leaves it as it is, and a new one private.
        tag: whether to tag the commit with the version.
        token: an access token; by default that of the environment or of a login.
        reporter: where progress goes.

    Raises:
        CurationError: as for ``hub.push``.
    """
    files = local_files(folder)
    total = sum(file.size for file in files)
    with reporter.tracked(f"uploading {folder.name}", total, bytes=True) as advance:
        return hub.push(
            hub.open_hub(token=token),
            to.id,
            files,
            version=folder.name,
            private=private,
            gated=to.gated,
            tag=tag,
            done=advance,
        )
