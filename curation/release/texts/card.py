"""The dataset card of a release, README.md, and its data statement, STATEMENT.md.

The card is what a reader takes in within five minutes. What does not fit is in the data statement:
what users must know of the dataset's people, texts and purpose. A fact is in one of the two. The
sections of the statement are those of data statements (Bender and Friedman 2018, versions 2 and 3);
the questions under them are those that datasheets ask (Gebru et al. 2021). All sentences are in
``data/release/templates``. Facts that are recorded are filled in, and the team answers the rest
(``questions``).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import yaml

from curation.kinds import CAT_KINDS
from curation.release.texts.questions import BY_KEY, HUB_ID, SECTIONS
from curation.release.texts.render import markdown
from curation.released.contents import SPLITS, DataFile, configs
from curation.released.facts import Facts, Hub

TAGS = ("stereoset", "stereotypes", "social-bias", "context-association-test")
SENSITIVE = "not-for-all-audiences"
"""The tag with which the Hub asks people before it shows rows of a dataset."""
_SIZES = {1e3: "n<1K", 1e4: "1K<n<10K", 1e5: "10K<n<100K", 1e6: "100K<n<1M", inf: "n>1M"}
DEFAULT = "cats"


def header(facts: Facts, data: Sequence[DataFile]) -> str:
    """The front matter with its two lines of ``---``.

    Args:
        facts: what the release says about itself.
        data: the files of the release; their paths become the configurations of the Hub.
    """
    licence = facts.licence
    base = facts.language.split("-")[0]
    fields: dict[str, Any] = {
        "pretty_name": facts.name,
        "language": [base],
        **({"language_bcp47": [facts.language]} if base != facts.language else {}),
        "license": licence.hub,
    }
    if licence.hub == "other":
        fields["license_name"] = re.sub(r"[^a-z0-9.]+", "-", licence.name.casefold()).strip("-")
        fields["license_link"] = "LICENSE"
    fields |= {
        "size_categories": [next(name for most, name in _SIZES.items() if facts.total < most)],
        "task_categories": ["multiple-choice", "text-classification"],
        "tags": [*TAGS, SENSITIVE],
        **_gate(facts.statement.hub),
        "configs": _configs(data),
    }
    text = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=1000)
    return f"---\n{text}---\n"


def _gate(hub: Hub) -> dict[str, Any]:
    """The fields of a gated dataset; nothing if everybody may download it."""
    asked = {
        "extra_gated_heading": "Ask for access to this dataset",
        "extra_gated_prompt": hub.prompt,
        "extra_gated_fields": dict(hub.fields),
    }
    return {name: value for name, value in asked.items() if value and hub.gated}


def _configs(data: Sequence[DataFile]) -> list[dict[str, Any]]:
    """The parts that ``datasets.load_dataset`` can load, each with its file for each split.

    They are the Parquet files, because ``datasets`` reads only one format in a dataset. Hidden
    CATs have other columns than public ones, so they are a part of their own.

    ``datasets`` keeps what it loaded from a folder under the folder's name and these values. The
    hashes in the descriptions are there so that it never takes another release for this one.
    """
    hashes = {file.path: file.sha256 for file in data if file.rows != 0}
    return [
        {
            "config_name": name,
            "description": "; ".join(f"{split} sha256 {hashes[of[split]]}" for split in of),
            "data_files": [{"split": split, "path": path} for split, path in of.items()],
        }
        | ({"default": True} if name == DEFAULT else {})
        for name, of in configs(hashes).items()
    ]


def card(facts: Facts, data: Sequence[DataFile]) -> bytes:
    """The release's README.md: the front matter of the Hub, then the card.

    Args:
        facts: what the release says about itself.
        data: the data files of the release.
    """
    hub, licence = facts.statement.hub.id, facts.licence
    private = {facts.hidden.split} if facts.hidden else set()
    open_splits = {size.split for size in facts.sizes} - private
    kinds = [kind for kind in CAT_KINDS if any(s.kind == kind and s.cats for s in facts.sizes)]
    measures = list(dict.fromkeys(row.measure for row in facts.agreement))
    tests = [row for row in (facts.trust.rows if facts.trust else ()) if row.kind == "test"]
    text = markdown(
        "README.md",
        facts=facts,
        opened=sum(key in BY_KEY for key in facts.open),
        kinds=kinds,
        sizes=list(_sizes(facts, kinds)),
        place=hub if HUB_ID.fullmatch(hub) else "path/to/this/folder",
        public=next((split for split in SPLITS if split in open_splits), ""),
        flags=dict.fromkeys((s.model, s.rules, flag) for s in facts.scores for flag in s.flags),
        has_choice=any(row.rules.partition("+")[0] == "choice" for row in facts.scores),
        measures=measures,
        agreement=list(_agreement(facts, measures)),
        confidences=sorted({row.confidence for row in facts.agreement}),
        trust_counts=Counter(row.verdict for row in tests).most_common(),
        linked=licence.url if re.fullmatch(r"https://[\w./-]+", licence.url) else "",
    )
    return f"{header(facts, data)}\n{text}".encode()


def _sizes(facts: Facts, kinds: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of the table of sizes: a domain in a split, with a cell for each kind of CAT."""
    sizes = {(size.domain, size.split, size.kind): size for size in facts.sizes if size.cats}
    terms = {(count.domain, count.split): count.terms for count in facts.terms}
    for key in dict.fromkeys(key[:2] for key in sizes):
        cells = [sizes.get((*key, kind)) for kind in kinds]
        yield {"domain": key[0], "split": key[1], "cells": cells, "terms": terms.get(key)}


def _agreement(facts: Facts, measures: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of the table of agreement, with a cell for each measure."""
    rows = {(a.scope, a.classes, a.cats, a.labels, a.measure): a for a in facts.agreement}
    for key in dict.fromkeys(key[:4] for key in rows):
        cells = [rows.get((*key, measure)) for measure in measures]
        yield dict(zip(("scope", "classes", "cats", "labels"), key, strict=True), cells=cells)


# --- the data statement -----------------------------------------------------------------------


def statement(facts: Facts) -> bytes:
    """STATEMENT.md: the data statement with the datasheet's questions.

    Args:
        facts: what the release says about itself; unanswered questions are in bold.
    """
    kept = {(row.domain, row.kind): row for row in facts.retention}
    total = kept.pop(("all", "all"), None)
    kinds = list(dict.fromkeys(kind for _, kind in kept))
    labelled = facts.total - facts.without_votes
    compared = [a.cats for a in facts.agreement if (a.scope, a.classes) == ("kept", "all")]
    wrote = (*CAT_KINDS, "import")
    readings = defaultdict(list)  # the rounds with the same texts are together
    for made in (made for made in facts.rounds if made.read or made.consent_text):
        readings[made.read, made.consent_text].append(made)
    unchecked = defaultdict(list)
    for row in facts.pitfalls:
        if row.count is None:
            unchecked[row.why or "no reason is recorded"].append(row.code)
    text = markdown(
        "STATEMENT.md",
        facts=facts,
        sections=SECTIONS,
        undecided=total.open if total else 0,
        retention_kinds=kinds,
        retention={
            d: [kept.get((d, kind)) for kind in kinds] for d in dict.fromkeys(d for d, _ in kept)
        },
        texts_imported=any(made.kind in wrote for made in facts.rounds)
        and not any(facts.people.get(kind) for kind in wrote),
        partly_agreed=bool(compared) and max(compared) < labelled,
        unchecked=unchecked,
        baseline_rows=[row for base in facts.baselines for row in base.rows],
        other_scores=[row for row in facts.scores if row not in facts.main_scores],
        readings=list(readings.values()),
    )
    return text.encode()
