"""What a small made-up release publishes: two domains, both kinds, both splits, odd texts."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from curation.catsets.stereoset import FileSettings
from curation.records import GOLDS, KINDS, Annotation, Kind, SplitName, Term
from curation.release import build
from curation.release import contents as public
from curation.release import data_files as tables
from curation.release import facts as told
from curation.release.facts import Facts, PitfallCount, ScoreRow, Statement

CANARY = "6f1c6f3e-0c52-4d8e-9a55-3f3f2f6a9b10"
TARGETS: tuple[tuple[str, str, str, SplitName], ...] = (
    ("term-baker", "baker", "profession", "dev"),
    ("term-pilot", "pilot", "profession", "test"),
    ("term-quillon", "Quillon", "race", "dev"),
    ("term-edo", "江戸の人", "race", "test"),
)
"""Id, text, domain and split of each term."""
_ORDERS = ((0, 1, 2), (2, 0, 1), (1, 2, 0))
PEOPLE = tuple(f"p-{n:016x}" for n in range(6))


def cat(
    name: str, term: str, kind: Kind, context: str, sentences: tuple[str, str, str], *,
    tier: int | None = 4, order: int = 0, target_original: str | None = None,
) -> public.PublishedCat:  # fmt: skip
    """A CAT from its stereotype, anti-stereotype and unrelated sentence, in one of three orders."""
    _, text, domain, split = next(row for row in TARGETS if row[0] == term)
    first, second, third = (
        public.PublishedOption(f"{name}-{place}", sentences[n], GOLDS[n])
        for place, n in enumerate(_ORDERS[order])
    )
    about = (name, kind, domain, text, target_original, split, context, tier)
    return public.PublishedCat(*about, (first, second, third))


def cats() -> tuple[public.PublishedCat, ...]:
    """Eight CATs; texts have Japanese, Arabic, quotes, commas, tabs and signs of formulas."""
    return (
        cat(
            "c1", "term-baker", "intrasentence", "The baker is BLANK.",
            ("The baker is early.", "The baker is late.", "The baker is magnetic."), tier=5,
        ),
        cat(
            "c2", "term-baker", "intersentence", "My neighbour is a baker.",
            ('He said, "up at four".', "She sleeps in;\nalways.", "=1+1 is two."), order=1,
        ),
        cat(
            "c3", "term-pilot", "intrasentence", "Our pilot was BLANK today.",
            ("Our pilot was very calm today.", "Our pilot was nervous today.",
             "Our pilot was <b>parquet</b> today."), order=2, tier=3,
        ),
        cat(
            "c4", "term-pilot", "intersentence", "The pilot boarded.",
            ("They wore a cap.", "They wore\ta jumper.", "Bread rises | overnight."), order=1,
        ),
        cat(
            "c5", "term-quillon", "intrasentence", "People from Quillon are BLANK.",
            ("People from Quillon are punctual.", "People from Quillon are tardy.",
             "People from Quillon are alphabetical."), order=2, target_original="Quillonia",
        ),
        cat(
            "c6", "term-quillon", "intersentence", "جاري من Quillon.",
            ("يحب الشاي.", "يحب القهوة.", "الدرج أزرق."), order=1, tier=None,
        ),
        cat(
            "c7", "term-edo", "intrasentence", "江戸の人はBLANKです。",
            ("江戸の人は短気です。", "江戸の人は気長です。", "江戸の人は三角です。"),
        ),
        cat(
            "c8", "term-edo", "intersentence", "隣に江戸の人がいる。",
            ("祭りが好きだ。", "静かな家が好きだ。", "鉛筆は長い。"), order=1,
        ),
    )  # fmt: skip


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
    known = {"term-quillon": "Q900000001", "term-edo": "Q900000002"}
    terms = []
    for name, text, domain, split in TARGETS:
        term = Term(
            id=name, text=text, domain=domain,
            family=f"people of {text}" if domain == "race" else None,
            wikidata=(known[name],) if name in known else (),
            names=("Quillonian", "quillon, the") if text == "Quillon" else (),
        )  # fmt: skip
        kinds = [cat.kind for cat in published if cat.target == text]
        terms.append(public.PublishedTerm(term, split, *map(kinds.count, KINDS)))
    votes = annotations(c for c in published if c.id != "c6")
    settings, without = FileSettings(language="en"), frozenset({"c6"})
    return public.Contents(version, published, votes, tuple(terms), settings, without)


def statement() -> Statement:
    """Answers of the team: a person, an institution, and some of the questions."""
    return Statement(
        description="Mild sentences about made-up groups: # not a heading, <b>not bold</b>.",
        authors=(
            told.Author(
                name="María José O'Neil-Ōta", affiliation="Institute of Examples",
                email="maria@example.invalid", orcid="0000-0002-1825-0097",
            ),
            told.Author(name="Ali Kaya"),
        ),
        contact="data@example.invalid",
        takedown="takedown@example.invalid",
        homepage="https://example.invalid/set",
        repository="https://example.invalid/set.git",
        paper="https://example.invalid/paper",
        doi="10.1234/example.5678",
    )  # fmt: skip


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
        for kind in KINDS
        for own in [[c.target for c in content.part(split, kind) if c.domain == domain]]
    ]
    main = told.RoundFacts(
        name="main", kind="validation", platform="files", people=6, answers=42, refused=2,
        first="2026-01-10", last="2026-01-20", consent="1-abcdef", pay=0.5, currency="EUR",
        read=(told.Reading(heading="Your task", lines=("Label three sentences.",)),),
        consent_text=("You may stop at any time.",),
    )  # fmt: skip
    alpha = told.Agreement(
        scope="kept", classes="3", measure="alpha", value=0.61, ci=(0.5, 0.7), cats=7, labels=105,
        few=True,
    )  # fmt: skip
    negative = told.SentimentShare(
        kind="intrasentence", label="stereotype", cats=4, share=25.0, ci=(0.0, 70.0)
    )
    longest = score(model="longest", kind="both", lms=75.0, icat=75.0, few=True)
    tiny = score(
        model="tiny", rules="ll-bos", kind="both", lms_ci=(20.0, 80.0), ss_ci=(20.0, 80.0),
        icat_ci=(10.0, 80.0), few=True,
    )  # fmt: skip
    share_alike = told.Licence(
        name="CC BY-SA 4.0", spdx="CC-BY-SA-4.0", hub="cc-by-sa-4.0",
        url="https://creativecommons.org/licenses/by-sa/4.0/", text="The text of the licence.\n",
    )  # fmt: skip
    whole = Facts(
        name="Mild: <Set> #1", version=content.version, language="en", date="2026-03-01",
        canary=CANARY, licence=share_alike, statement=statement(), open=("languages.variety",),
        warning="Content warning: these texts repeat stereotypes; nobody agrees with them.",
        sizes=tuple(sizes), tiers={"3": 1, "4": 5, "5": 1, "unknown": 1}, without_votes=1,
        translated=1, annotations=len(content.annotations), annotators=len(PEOPLE),
        counted=int(content.annotations["counted"].sum()), rounds=(main,),
        people={"intrasentence": 3, "intersentence": 2, "validation": 6},
        decisions={"needed": 3, "of": 5, "count_writer": False, "count_repeats": False,
                   "match_intent": False},
        agreement=(alpha,), sentiment=(negative,), sentiment_by="VADER", scores=(tiny,),
        retention=(
            told.Retention(domain="race", kind="intrasentence", items=3, kept=2, share=66.7),
        ),
        pitfalls=(pitfall("target_renamed", says="another text", count=1, of=8),),
        baselines=(
            told.Baseline(model="longest", says="prefers the longest option",
                          beyond=("lms, test",), rows=(longest,)),
        ),
        seed=1, dev=0.25, versions={"curation": "0.1.0"}, canonical="0" * 64,
    )  # fmt: skip
    return whole.model_copy(update=changes)


def data_files(files: Mapping[str, bytes], content: public.Contents) -> list[public.DataFile]:
    """The descriptions of data files, with their numbers of rows."""
    rows = {public.ANNOTATIONS: len(content.annotations), public.TERMS: len(content.terms)}
    for split in public.SPLITS:
        rows[f"{split}.json"] = len(content.part(split))
        for kind in KINDS:
            number = len(content.part(split, kind))
            rows[tables.flat_path(kind, split)] = number
            rows[tables.parquet_path(kind, public.HUB_SPLITS[split])] = number
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
