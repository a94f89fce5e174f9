"""What ``curation terms explain`` shows of a term."""

from typing import Any

from curation.cli import console


def show(story: dict[str, Any]) -> None:
    """Print a candidate as ``curation.terms.explain.story`` describes it."""
    console.heading(f"{story['term']} ({story['domain']}): {story['status']}")
    reason = [story["meaning"], story["detail"]]
    lines = [
        ("because", "; ".join(part for part in reason if part)),
        ("into", story["into"]),
        ("source", f"{story['source']}, {story['form']}"),
        ("statements", _statements(story)),
        ("id", story["id"]),
        ("old names", ", ".join(story["old_names"])),
        ("family", ", ".join(dict.fromkeys(filter(None, [story["family"], *story["relatives"]])))),
        ("merged", ", ".join(f"{m['term']} ({m['reason']})" for m in story["merged_into_it"])),
    ]
    for item in story["wikidata"]:
        lines.append((item["id"], _item_line(item)))
    for edit in story["edits"]:
        shown = {k: v for k, v in edit.items() if k not in ("line", "not_applied")}
        text = ", ".join(f"{key} {value}" for key, value in shown.items())
        if problem := edit.get("not_applied"):
            text += f"; not applied: {problem}"
        lines.append(("edited", f"1-terms/edits.csv line {edit['line']}: {text}"))
    lines.append(("items", str(story["items"]) if story["items"] else ""))
    lines.append(("old name in", ", ".join(story["items_with_an_old_name"])))
    for name, value in lines:
        if value:
            console.say(f"  {name:14}{value}")


def _statements(story: dict[str, Any]) -> str:
    if story["count"] is None:
        return ""
    own, whole = story["count"], story["rolled_up"]
    return f"{own:,}" + (f", {whole:,} with what was merged into it" if whole > own else "")


def _item_line(item: dict[str, Any]) -> str:
    above = [f"{label or qid}" for qid, label in item.get("kind_of", {}).items()]
    above += [f"{label or qid}" for qid, label in item.get("instance_of", {}).items()]
    counts = ", ".join(f"{p} {n:,}" for p, n in item["counts"].items())
    parts = [item.get("description"), counts, f"under {', '.join(above)}" if above else ""]
    return "; ".join(part for part in parts if part)
