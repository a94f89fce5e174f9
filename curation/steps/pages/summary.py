"""The figures of the first screen, each taken from what the other files of the report say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.steps.source import Source

_NORMAL = 1.96  # the quantile of an interval of 95 per cent
_STATUSES = ("pass", "fail", "inconclusive", "not_run", "attested")


def cats(source: Source) -> dict[str, int]:
    """How many CATs, terms and domains there are."""
    return {
        "cats": len(source.cats),
        "terms": len({cat.term for cat in source.cats}),
        "domains": len({cat.domain for cat in source.cats}),
    }


def numbers(contents: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of the first screen; each is None if nothing says it.

    Args:
        contents: what the report is made of, by name; ``release`` stands in for what is missing.

    Returns:
        ``size`` (numbers of cats, terms and domains); ``kept`` (share of the decided items that are
        CATs, in per cent, with Wilson's interval, and of how many); ``people``; ``agreement``
        (alpha of the kept CATs with its interval, what the settings ask for, and whether that is
        reached); ``ss`` (the highest and the lowest ss of models on test, in per cent); ``trust``
        (tests of the trust report by status); ``cost``.
    """
    release = contents.get("release") or {}
    trust = contents.get("trust") or release.get("trust") or {}
    return {
        "size": contents.get("cats") or _size(release),
        "kept": _kept(contents, release),
        "people": contents.get("state", {}).get("people") or None,
        "agreement": _alpha(contents, release, trust),
        "ss": _ss(contents, release),
        "trust": _by_status(trust.get("rows", ())),
        "cost": _cost(contents),
    }


def _size(release: Mapping[str, Any]) -> dict[str, int] | None:
    sizes: Sequence[Mapping[str, Any]] = release.get("sizes", ())
    if not sizes:
        return None
    return {
        "cats": sum(size["cats"] for size in sizes),
        "terms": sum(count["terms"] for count in release.get("terms", ())),
        "domains": len({size["domain"] for size in sizes}),
    }


def _first(rows: Iterable[Mapping[str, Any]], **fields: str) -> Mapping[str, Any] | None:
    """The first row with these values; a row without a field has it."""
    own = (r for r in rows if all(r.get(name, value) == value for name, value in fields.items()))
    return next(own, None)


def _kept(contents: Mapping[str, Any], release: Mapping[str, Any]) -> dict[str, Any] | None:
    from curation.stats.intervals import wilson

    rows = (contents.get("agreement") or release).get("retention", ())
    row = _first(rows, domain="all", kind="all") or {}
    share = row.get("retention", row.get("share"))
    if share is None:
        return None
    items = row["items"] - (row["open"] if "retention" in row else 0)
    ci = [100 * end for end in wilson(share / 100, items, _NORMAL)]
    return {"share": share, "ci": ci, "items": items}


def _alpha(
    contents: Mapping[str, Any], release: Mapping[str, Any], trust: Mapping[str, Any]
) -> dict[str, Any] | None:
    report = contents.get("agreement")
    rows = report["measures"] if report else release.get("agreement", ())
    row = _first(rows, by="overall", scope="kept", classes="all", measure="alpha")
    if row is None or row["value"] is None:
        return None
    needed = trust.get("thresholds", {}).get("agreement")
    reached = None if needed is None else row["value"] >= needed
    own = {name: row[name] for name in ("value", "ci", "cats")}
    return {**own, "needed": needed, "reached": reached}


def _ss(contents: Mapping[str, Any], release: Mapping[str, Any]) -> dict[str, Any] | None:
    """The lowest and the highest ss of models on test, both kinds together."""
    rows: list[tuple[float, str, Any, int]] = []
    if "scores" in contents:
        for run in contents["scores"]["runs"].values():
            whole = run["overall"] or next(iter(run["kinds"].values()))["overall"]
            if whole["ss"] is not None:
                rows.append((whole["ss"], run["label"], whole["ss_ci"], whole["cats"]))
    else:
        for row in release.get("scores", ()):
            if row["split"] == "test" and row["kind"] == "both" and row["ss"] is not None:
                rows.append((row["ss"], row["model"], row["ss_ci"], row["cats"]))
    if not rows:
        return None
    rows.sort(key=lambda row: row[:2], reverse=True)
    fields = ("value", "model", "ci", "cats")
    ends = [rows[0], *rows[-1:]] if len(rows) > 1 else rows
    return {"models": len(rows), "ends": [dict(zip(fields, end, strict=True)) for end in ends]}


def _by_status(rows: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    tests = [row["status"] for row in rows if row["kind"] == "test"]
    counts = {status: tests.count(status) for status in _STATUSES}
    return counts if any(counts.values()) else None


def _cost(contents: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the answers cost so far; None if no round pays."""
    cost = contents.get("state", {}).get("cost") or {}
    return cost if cost.get("now") else None
