"""A term's story, as a person reads it."""

from typing import Any

from curation.cli import console


def tell(story: dict[str, Any]) -> None:
    """Print what ``curation.terms.explain`` tells of a candidate."""
    console.heading(f"{story['term']} ({story['domain']}): {story['status']}")
    why = [story["meaning"], story["detail"]]
    lines = [
        ("because", "; ".join(part for part in why if part)),
        ("into", story["into"]),
        ("source", f"{story['source']}, {story['form']}"),
        ("statements", _statements(story)),
        ("id", story["id"]),
        ("older texts", ", ".join(story["older_texts"])),
        ("family", ", ".join(dict.fromkeys(filter(None, [story["family"], *story["relatives"]])))),
        ("merged", ", ".join(f"{m['term']} ({m['reason']})" for m in story["merged_into_it"])),
    ]
    for item in story["wikidata"]:
        lines.append((item["id"], _of_item(item)))
    for edit in story["edits"]:
        rest = [f"{key} {value}" for key, value in edit.items() if key != "line"]
        lines.append(("people", f"edits.csv line {edit['line']}: {', '.join(rest)}"))
    lines.append(("items", str(story["items"]) if story["items"] else ""))
    lines.append(("older text in", ", ".join(story["items_with_an_older_text"])))
    for name, value in lines:
        if value:
            console.say(f"  {name:14}{value}")


def _statements(story: dict[str, Any]) -> str:
    if story["count"] is None:
        return ""
    more = story["rolled_up"] - story["count"]
    return f"{story['count']:,}" + (
        f", with what was merged {story['rolled_up']:,}" if more else ""
    )


def _of_item(item: dict[str, Any]) -> str:
    above = [f"{label or qid}" for qid, label in item.get("kind_of", {}).items()]
    above += [f"{label or qid}" for qid, label in item.get("instance_of", {}).items()]
    counts = ", ".join(f"{p} {n:,}" for p, n in item["counts"].items())
    parts = [item.get("description"), counts, f"under {', '.join(above)}" if above else ""]
    return "; ".join(part for part in parts if part)
