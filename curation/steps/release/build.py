"""The step ``release``: the published folder."""

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.files import CurationError, read_json, writing
from curation.item_form import names
from curation.manifest import Results
from curation.records import Cat, Item
from curation.steps.decisions import kept_without_votes
from curation.steps.read import item_files, label_files, read_counted, read_items, read_terms
from curation.steps.release import hiding, licences, versions
from curation.steps.reporter import Reporter
from curation.steps.rounds.shown import own_texts
from curation.steps.source import FORM, campaign_source
from curation.stereoset import FileSettings

if TYPE_CHECKING:
    import pandas as pd


def settings(campaign: Campaign) -> dict[str, Any]:
    """What a release depends on."""
    settings = campaign.settings
    return {
        **settings.release.model_dump(),
        "name": settings.campaign.name,
        "language": settings.campaign.language,
        "warning": _warning(campaign),
        "decisions": settings.decisions.model_dump(),
        **settings.rounds.model_dump(include=set(FORM.values())),
    }


def _warning(campaign: Campaign) -> str:
    from curation.rounds.pages import release_warning

    return release_warning(campaign.settings.campaign.language, own_texts(campaign))


def inputs(campaign: Campaign) -> list[Path]:
    """What a release reads."""
    return [
        *item_files(campaign),
        *label_files(campaign),
        campaign.terms / "targets.jsonl",
        campaign.decisions / "cats.jsonl",
        campaign.decisions / "decisions.jsonl",
        campaign.measures / "pitfalls.json",
        *licences.inputs(campaign),
    ]


def _accepted(campaign: Campaign) -> dict[str, int]:
    """How often each accepted pitfall was found that would block the release.

    Raises:
        CurationError: a pitfall blocks the release; or an accepted code is not that of a pitfall.
    """
    from curation.checks.codes import PITFALLS

    accept = campaign.settings.release.accept
    for name in accept:
        if name not in {*PITFALLS, licences.DIFFERS, *hiding.CODES}:
            known = [*PITFALLS, licences.DIFFERS, *hiding.CODES]
            near = difflib.get_close_matches(name, known, 1)
            raise CurationError(
                f"[release] accept names {name!r}, which is not a pitfall",
                f"did you mean {near[0]!r}?" if near else "docs/measures.md lists them",
            )
    rows = read_json(campaign.measures / "pitfalls.json")["table"]
    blocking = {r["code"]: r["count"] for r in rows if r["severity"] == "block" and r["count"]}
    refused = {code: count for code, count in blocking.items() if code not in accept}
    if refused:
        counts = ", ".join(f"{code} {count}" for code, count in refused.items())
        codes = ", ".join(f'"{code}"' for code in (*accept, *refused))
        raise CurationError(
            f"pitfalls block the release: {counts}; 4-measures/pitfalls.jsonl lists each place",
            "fix the texts; or leave the items out (leave_out in [decisions]); or, if they are "
            f"right as they are: accept = [{codes}] in [release]",
        )
    return blocking


def _answered(
    cats: Sequence[Cat], items: Sequence[Item], table: "pd.DataFrame"
) -> set[tuple[str, str]]:
    """Person and round of the answers in a release: its labels, and the items' writers."""
    published = {cat.id for cat in cats}
    written = {(i.writer, i.round) for i in items if i.writer and i.id in published}
    return written | set(zip(table["annotator"], table["round"], strict=True))


def _file_settings(campaign: Campaign, cats: Iterable[Cat], reporter: Reporter) -> FileSettings:
    """How the CATs were checked; warns of contexts that name their target by an older text."""
    terms = read_terms(campaign)
    old: dict[str, dict[str, list[str]]] = defaultdict(dict)
    count = 0
    for cat in cats:
        if not names(cat.context, cat.target):
            used = [name for name in terms[cat.term].names if names(cat.context, name)]
            known = old[cat.domain].setdefault(cat.target, []) if used else []
            known += [name for name in used if name not in known]
            count += bool(used)
    form = campaign.settings.rounds.model_dump(include=set(FORM.values()))
    if count and form["name_target"]:
        reporter.warn(
            "CATs whose context names the target only by an older text or another spelling: "
            f"{count}; «curation measures pitfalls --show target_renamed» shows them"
        )
    return FileSettings(language=campaign.settings.campaign.language, names=dict(old), **form)


def release(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Write the published folder."""
    from curation.release import card, stereoset_files
    from curation.release.contents import Contents, published

    settings, version = campaign.settings, campaign.settings.release.version
    cats = campaign_source(campaign).cats
    if not cats:
        raise CurationError(
            "no CAT was kept, so there is nothing to release",
            "«curation decisions filter» shows why items are dropped; check that labels are in, or "
            "set trust_gold in [decisions] if published gold labels are to decide",
        )
    accepted = _accepted(campaign)
    items = read_items(campaign)
    counted = read_counted(campaign, items)
    table = stereoset_files.annotations(cats, counted.labels)
    other_licences = licences.others(campaign, _answered(cats, items, table), reporter)
    checked = _file_settings(campaign, cats, reporter)
    trusted = kept_without_votes(campaign)
    contents = Contents(
        version=version,
        cats=tuple(map(published, cats)),
        annotations=table,
        terms=(),
        settings=checked,
        without_votes=frozenset(trusted),
    )
    contents = hiding.hide(campaign, contents, results, reporter)
    table = contents.annotations
    if contents.hidden:
        secret = settings.release.hide
        cats = [c.model_copy(update={"tier": None}) if c.split == secret else c for c in cats]
    content = stereoset_files.files(contents)
    content["annotations.csv"] = table.to_csv(index=False, lineterminator="\n").encode()
    content["README.md"] = card.readme(
        cats,
        table,
        name=settings.campaign.name,
        version=version,
        language=settings.campaign.language,
        licence=settings.release.licence,
        warning=_warning(campaign),
        decisions=card.how_decided(settings.decisions.model_dump()),
        accepted=accepted,
        other_licences=other_licences,
        without_votes=trusted,
    ).encode()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    lines = [f"{sha}  {name}\n" for name, sha in sums.items()]
    content[versions.SUMS] = "".join(lines).encode()
    staged = results.new_folder(version)
    for name, data in content.items():
        with writing(staged / name) as file:
            file.write(data)
    versions.check_unchanged(campaign, staged)
    return {
        "cats": len(cats),
        "labels_in": len(counted.labels),
        "labels_of_dropped_items": int((~counted.labels["item"].isin([c.id for c in cats])).sum()),
        "annotations": len(table),
        "without_votes": len(trusted),
        "hidden": sum(cat.commitment is not None for cat in contents.cats),
    }
