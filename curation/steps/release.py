"""The step ``release``: the published folder."""

import difflib
import hashlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import CurationError, dump_json, read_json
from curation.manifest import Results, read_manifest
from curation.steps.read import item_files, label_files, read_counted, read_items
from curation.steps.reporter import Reporter
from curation.steps.rounds.shown import own_texts
from curation.steps.source import campaign_source


def settings(campaign: Campaign) -> dict[str, Any]:
    """What a release depends on."""
    settings = campaign.settings
    return {
        **settings.release.model_dump(),
        "name": settings.campaign.name,
        "language": settings.campaign.language,
        "decisions": settings.decisions.model_dump(),
        "warning": _warning(campaign),
    }


def _warning(campaign: Campaign) -> str:
    from curation.rounds.pages import release_warning

    return release_warning(campaign.settings.campaign.language, own_texts(campaign))


def inputs(campaign: Campaign) -> list[Path]:
    """What a release reads."""
    return [
        *item_files(campaign),
        *label_files(campaign),
        campaign.decisions / "cats.jsonl",
        campaign.measures / "pitfalls.json",
    ]


def _accepted(campaign: Campaign) -> dict[str, int]:
    """How often each accepted pitfall was found that would block the release.

    Raises:
        CurationError: a pitfall blocks the release; or an accepted code is not that of a pitfall.
    """
    from curation.checks.codes import PITFALLS

    accept = campaign.settings.release.accept
    for name in accept:
        if name not in PITFALLS:
            near = difflib.get_close_matches(name, PITFALLS, 1)
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


def release(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Write the published folder."""
    from curation.release import build

    settings, version = campaign.settings, campaign.settings.release.version
    cats = campaign_source(campaign).cats
    if not cats:
        raise CurationError(
            "no CAT was kept, so there is nothing to release",
            "«curation decisions filter» shows why items are dropped; check that labels are in",
        )
    accepted = _accepted(campaign)
    items = read_items(campaign)
    counted = read_counted(campaign, items)
    table = build.annotations(cats, counted.labels)
    content = {
        name: dump_json(data)
        for name, data in build.split_files(cats, table, version=version).items()
    }
    content["annotations.csv"] = table.to_csv(index=False, lineterminator="\n").encode()
    content["README.md"] = build.readme(
        cats,
        table,
        name=settings.campaign.name,
        version=version,
        language=settings.campaign.language,
        licence=settings.release.licence,
        warning=_warning(campaign),
        decisions=build.how_decided(settings.decisions.model_dump()),
        accepted=accepted,
    ).encode()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    lines = [f"{sha}  {name}\n" for name, sha in sums.items()]
    content["SHA256SUMS"] = "".join(lines).encode()
    for name, data in content.items():
        results.lines(f"{version}/{name}", [data])
    _warn_of_changes(campaign, {f"{version}/{name}": sha for name, sha in sums.items()}, reporter)
    return {
        "cats": len(cats),
        "labels_in": len(counted.labels),
        "labels_of_dropped_items": int((~counted.labels["item"].isin([c.id for c in cats])).sum()),
        "annotations": len(table),
    }


def delete(campaign: Campaign, files: Iterable[Path]) -> None:
    """Delete released files, and the folder of the version that the settings name."""
    for file in files:
        file.unlink(missing_ok=True)
    shutil.rmtree(campaign.releases / campaign.settings.release.version, ignore_errors=True)


def _warn_of_changes(campaign: Campaign, sums: Mapping[str, str], reporter: Reporter) -> None:
    """Warn if a file of the same version was released with other content before."""
    before = read_manifest(campaign.releases).steps.get("release")
    outputs = before.outputs if before else {}
    changed = [name for name, sha in sums.items() if outputs.get(name, sha) != sha]
    if changed:
        reporter.warn(
            f"7-release/{changed[0]} has changed; if this version has been published, put the old "
            "files back and raise version in [release]"
        )
