"""What a small made-up release publishes: two domains, both kinds, both splits, odd texts."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from curation.catsets.stereoset import FileSettings
from curation.kinds import CAT_KINDS, GOLDS
from curation.records import Annotation, Term
from curation.release import build
from curation.released import contents as public
from curation.released import facts as told
from curation.released.facts import Facts, PitfallCount, ScoreRow, Statement
from support.written import beside

CANARY = "6f1c6f3e-0c52-4d8e-9a55-3f3f2f6a9b10"
MADE = beside(__file__, "releases.toml")
PEOPLE = tuple(f"p-{n:016x}" for n in range(6))


def cats() -> tuple[public.PublishedCat, ...]:
    """Eight CATs, c1 to c8."""
    found = []
    for number, row in enumerate(MADE["cats"], 1):
        term = MADE["terms"][row["term"]]
        first, second, third = (
            public.PublishedOption(f"c{number}-{place}", row["sentences"][n], GOLDS[n])
            for place, n in enumerate(row["order"])
        )
        about = (f"c{number}", row["kind"], term["domain"], term["text"])
        more = (row.get("target_original"), term["split"], row["context"], row.get("tier"))
        found.append(public.PublishedCat(*about, *more, (first, second, third)))
    return tuple(found)


def annotations(of: Iterable[public.PublishedCat]) -> pd.DataFrame:
    """Six labels of each option: five counted ones, as many right as the tier says, and one not."""
    wrong = dict(zip(GOLDS, ("anti-stereotype", "related", "stereotype"), strict=True))
    rows = []
    for each in of:
        for option in each.options:
            assert option.gold is not None
            for n, person in enumerate(PEOPLE):
                right = n < (each.tier or 5)
                label = option.gold if right else wrong[option.gold]
                counted = n < 5 and each.tier is not None
                rows.append((each.id, option.id, person, label, "main", counted, each.tier))
    table = pd.DataFrame(rows, columns=list(Annotation.model_fields))
    return table.astype({"counted": bool, "tier": "Int64"})


def contents(version: str = "1.0.0") -> public.Contents:
    """What the release publishes; CAT «c6» has no votes."""
    published = cats()
    terms = []
    for name, row in MADE["terms"].items():
        about = {key: value for key, value in row.items() if key != "split"}
        term = Term.model_validate({"id": name, "family": None, **about}, strict=False)
        kinds = Counter(cat.kind for cat in published if cat.target == term.text)
        terms.append(public.PublishedTerm(term, row["split"], kinds))
    votes = annotations(c for c in published if c.id != "c6")
    settings, without = FileSettings(language="en"), frozenset({"c6"})
    return public.Contents(version, published, votes, tuple(terms), settings, without)


def statement() -> Statement:
    """Answers of the team: a person, an institution, and some of the questions."""
    return Statement.model_validate(MADE["facts"]["statement"])


def score(**fields: Any) -> ScoreRow:
    """A row of a model's scores."""
    usual = {"model": "m", "split": "test", "kind": "intrasentence", "cats": 4, "terms": 2}
    return ScoreRow(**{**usual, "lms": 50.0, "ss": 50.0, "icat": 50.0, **fields})


def pitfall(code: str, **fields: Any) -> PitfallCount:
    """A row of the table of pitfalls."""
    usual = {"says": "s", "severity": "note", "count": 2, "of": 9, "stereoset": None, "why": None}
    return PitfallCount(**{"code": code, **usual, **fields})


def facts(**changes: Any) -> Facts:
    """The facts of a release with these contents; ``changes`` replace some of them."""
    content = contents()
    sizes = [
        told.Size(domain=domain, kind=kind, split=split, terms=len(set(own)), cats=len(own))
        for domain in ("profession", "race")
        for split in public.SPLITS
        for kind in CAT_KINDS
        for own in [[c.target for c in content.part(split, kind) if c.domain == domain]]
    ]
    longest = score(model="longest", kind="both", lms=75.0, icat=75.0, few=True)
    intervals = {"lms_ci": (20.0, 80.0), "ss_ci": (20.0, 80.0), "icat_ci": (10.0, 80.0)}
    tiny = score(model="tiny", rules="ll-bos", kind="both", few=True, **intervals)
    lengths = {"model": "longest", "says": "prefers the longest option", "beyond": ("lms, test",)}
    counted = {
        "version": content.version, "canary": CANARY, "sizes": sizes,
        "annotations": len(content.annotations), "annotators": len(PEOPLE),
        "counted": int(content.annotations["counted"].sum()), "scores": (tiny,),
        "pitfalls": (pitfall("target_renamed", says="another text", count=1, of=8),),
        "baselines": (told.Baseline(rows=(longest,), **lengths),),
    }  # fmt: skip
    return Facts.model_validate({**MADE["facts"], **counted}).model_copy(update=changes)


def data_files(files: Mapping[str, bytes], content: public.Contents) -> list[public.DataFile]:
    """The descriptions of data files, with their numbers of rows."""
    rows = {public.ANNOTATIONS: len(content.annotations), public.TERMS: len(content.terms)}
    for split in public.SPLITS:
        rows[f"{split}.json"] = len(content.part(split))
        for kind in CAT_KINDS:
            number = len(content.part(split, kind))
            rows[public.flat_path(kind, split)] = number
            rows[public.parquet_path(kind, public.HUB_SPLITS[split])] = number
    return [public.DataFile.of(path, content, rows.get(path)) for path, content in files.items()]


def hidden(content: public.Contents) -> public.Contents:
    """The same with a hidden test split: no gold labels, tiers and annotations of its CATs."""
    test = [
        cat._replace(
            tier=None,
            options=tuple(option._replace(gold=None) for option in cat.options),
            commitment=hashlib.sha256(cat.id.encode()).hexdigest(),
        )
        for cat in content.part("test")
    ]
    dev, table = content.part("dev"), content.annotations
    table = table[table["cat_id"].isin([cat.id for cat in dev])].reset_index(drop=True)
    return replace(content, cats=tuple(sorted([*dev, *test])), annotations=table)


def write(folder: Path, content: public.Contents, about: Facts) -> Path:
    """The release with these contents."""
    for name, text in build.files(content, about):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    return folder
