"""The figures of the first screen, each taken from what the other files of the report say."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.campaign.source import Source
from curation.status import UP_TO_DATE

_NORMAL = 1.96  # the quantile of an interval of 95 per cent
_EVEN = 50.0  # per cent: the ss of a model that prefers neither
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
        (alpha of the kept CATs with its interval, what the settings ask for, whether that is
        reached, None if it lies in the interval, and ``decided``, alpha of all decided items);
        ``ss`` (the highest and the lowest ss of models on test, in per cent); ``worst`` (the ss of
        a domain that is furthest from even, of how many, and whether its interval is on one side);
        ``trust`` (tests of the trust report by status, and which of them failed by subject);
        ``steps`` (how many there are and how many are up to date); ``open`` (items that lack
        labels); ``cost``.
    """
    release = contents.get("release") or {}
    trust = contents.get("trust") or release.get("trust") or {}
    return {
        "size": contents.get("cats") or _size(release),
        "kept": _kept(contents, release),
        "people": contents.get("state", {}).get("people") or None,
        "agreement": _alpha(contents, release, trust),
        "ss": _ss(contents, release),
        "worst": _worst(contents.get("scores") or {}),
        "trust": _by_status(trust.get("rows", ())),
        "steps": _steps(contents.get("state", {}).get("steps", {})),
        "open": _open(contents.get("agreement") or {}),
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
    kept, decided = (
        _first(rows, by="overall", scope=scope, classes="all", measure="alpha")
        for scope in ("kept", "decided")
    )
    if kept is None or kept["value"] is None:
        return None
    needed = trust.get("thresholds", {}).get("agreement")
    low, high = kept["ci"] or (None, None)
    reached = None
    if needed is not None and low is not None and not low < needed <= high:
        reached = low >= needed
    fields = ("value", "ci", "cats")
    own, others = ({f: row[f] for f in fields} if row else None for row in (kept, decided))
    return {**(own or {}), "needed": needed, "reached": reached, "decided": others}


def _ss(contents: Mapping[str, Any], release: Mapping[str, Any]) -> dict[str, Any] | None:
    """The lowest and the highest ss of models on test, both kinds together."""
    rows: list[tuple[float, str, Any, int]] = []
    if "scores" in contents:
        for run in contents["scores"]["runs"].values():
            whole = _whole(run)["overall"]
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


def _whole(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a run scores with both kinds together, or with its only kind."""
    return run if run["overall"] else next(iter(run["kinds"].values()))


def _worst(scores: Mapping[str, Any]) -> dict[str, Any] | None:
    """The ss of a domain that is furthest from even; of domains with enough terms, if there are."""
    found = [
        (cell, run["label"], domain)
        for run in scores.get("runs", {}).values()
        for domain, cell in _whole(run)["domains"].items()
        if cell["ss"] is not None and cell["ss_ci"]
    ]
    found = [entry for entry in found if not entry[0]["few_terms"]] or found
    if not found:
        return None
    cell, model, domain = max(found, key=lambda entry: abs(entry[0]["ss"] - _EVEN))
    low, high = cell["ss_ci"]
    return {
        "domain": domain,
        "model": model,
        "value": cell["ss"],
        "ci": cell["ss_ci"],
        **{name: cell[name] for name in ("cats", "terms", "few_terms")},
        "beyond": not low <= _EVEN <= high,
        "of": len(found),
    }


def _by_status(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    tests = [row for row in rows if row["kind"] == "test"]
    statuses = [row["status"] for row in tests]
    counts = {status: statuses.count(status) for status in _STATUSES}
    failed = Counter(row["subject"] for row in tests if row["status"] == "fail")
    return {**counts, "failed": dict(sorted(failed.items()))} if any(counts.values()) else None


def _steps(steps: Mapping[str, Any]) -> dict[str, int] | None:
    done = sum(step["state"] == UP_TO_DATE for step in steps.values())
    return {"all": len(steps), "done": done} if steps else None


def _open(agreement: Mapping[str, Any]) -> int | None:
    """How many items lack labels."""
    row = _first(agreement.get("retention", ()), domain="all", kind="all")
    return row["open"] if row else None


def _cost(contents: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the answers cost so far; None if no round pays."""
    cost = contents.get("state", {}).get("cost") or {}
    return cost if cost.get("now") else None
