"""Releases for review: the facts name nobody, and a scan finds names that are left."""

from pathlib import Path

import pytest

from curation.release.anonymous import Place, anonymize, doubts, identifying_names, refusal, scan
from curation.release.texts.card import card, statement
from curation.release.texts.licences import licence
from curation.released.facts import Author, Facts, Hub, Licence, Reading, RoundFacts, Statement
from support.catsets import write_parquet
from support.releases import facts

TEAM = Statement(
    description="Mild texts on jobs.",
    authors=(
        Author(name="Ann Baker", affiliation="University of Nowhere", email="ann@uni-no.invalid"),
        Author(name="María Ōta", orcid="0000-0002-1825-0097"),
        Author(name="山田太郎"),
        Author(name="Łukasz Øre", affiliation="Münchner Labor"),
    ),
    contact="contact@uni-no.invalid",
    takedown="takedown@uni-no.invalid",
    homepage="https://sets.uni-no.invalid/mild-set",
    repository="https://github.com/baker-lab/mild-set",
    doi="10.1234/example.5678",
    hub=Hub(id="baker-lab/mild-set", gated="auto", prompt="Please be kind."),
    answers={"review": "Board of Nowhere, 12/2026", "purpose": "Jobs are missing elsewhere."},
)
SECRETS = identifying_names(TEAM)


def found(text: str, path: str = "README.md", cats: bytes = b"") -> list[tuple[str, str, bool]]:
    places = scan({path: text.encode(), "cats/x.jsonl": cats}, SECRETS)
    return [(p.found, p.kind, p.blocks) for p in places if p.path == path]


def team_facts() -> Facts:
    said = ("This study is by the Institute of Tests.", "You may stop.", "Write to a@b.invalid.")
    made = RoundFacts(
        name="r1", kind="validation", people=1, answers=1, refused=0,
        required=("they live in Japan", "students of the Institute of Tests"),
        read=(Reading(heading="Rights", lines=said),),
        consent_text=("Approved by BOARD-7.", "It is voluntary."),
    )  # fmt: skip
    return facts(statement=TEAM, rounds=(made,), open=("uses", "limits"))


def test_the_facts_for_review_name_nobody() -> None:
    made = anonymize(team_facts(), ["Institute of Tests", "BOARD-7"])
    assert made.anonymous
    left = {"purpose": "Jobs are missing elsewhere."}
    hub = Hub(gated="auto", prompt="Please be kind.")
    assert made.statement == Statement(description="Mild texts on jobs.", hub=hub, answers=left)
    assert made.rounds[0].read[0].lines == ("You may stop.",)
    assert made.rounds[0].consent_text == ("It is voluntary.",)
    assert made.rounds[0].required == ("they live in Japan",)
    assert made.open == ("uses", "limits")
    text, questions = card(made, ()), statement(made)
    files = {"README.md": text, "STATEMENT.md": questions, "r": made.model_dump_json().encode()}
    places = scan(files, [*SECRETS, "Institute of Tests", "BOARD-7"])
    assert refusal(places) is None
    assert {p.found for p in places} == {"tests", "board"}  # every card has these words
    assert b"This release is for review; names are left out." in text
    assert b"Left out for review." in text
    assert b"Who made this dataset?" not in text
    assert b"What is the dataset meant for?" in questions


def test_the_files_of_a_release_that_is_not_for_review_are_full_of_names() -> None:
    text = card(team_facts(), ()).decode()
    assert {name for name, _, blocks in found(text) if blocks} >= {
        *("ann baker", "university of nowhere", "山田太郎"),
        *("contact@uni-no.invalid", "https://github.com/baker-lab/mild-set"),
    }


def test_mit_loses_its_copyright_holders() -> None:
    made = facts(licence=licence("MIT", holders=["Ann Baker"], year="2026"))
    assert "Copyright (c) 2026 the authors\n" in anonymize(made).licence.text
    own = facts(licence=Licence(name="Own", text="Copyright (c) 2026 Ann Baker\n"))
    assert "Ann Baker" in anonymize(own).licence.text  # the scan refuses it


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("by Ann Baker", "ann baker"),
        ("by ANN\u00a0BAKER", "ann baker"),
        ("María Ōta", "maria ota"),
        ("Maria Ota", "maria ota"),
        (r"Mar\u00eda \u014cta", "maria ota"),
        ("著者は山田太郎です", "山田太郎"),
        ("at the University  of Nowhere.", "university of nowhere"),
        ("ORCID 0000-0002-1825-0097", "0000-0002-1825-0097"),
        ("the ota corpus", "ota"),
        ("Mar\u00ada \u014cta and Ann\u200b Baker", "ann baker"),
        ("the model annbaker2/small", "ann baker"),
        ("ann_baker-small", "ann baker"),
        ("by the University of\n  Nowhere", "university of nowhere"),
        ("山田 太郎", "山田太郎"),
        ("Lukasz Ore", "lukasz ore"),
        ("Muenchner Labor", "muenchner labor"),
        ("Munchner Labor", "munchner labor"),
    ],
)
def test_names_are_found_in_any_form(text: str, name: str) -> None:
    assert (name, True) in {(n, blocks) for n, _, blocks in found(text)}


@pytest.mark.parametrize(
    "text",
    [
        "see https://arxiv.org/abs/2004.09456 and https://aclanthology.org/Q18-1041/.",
        "http://www.w3.org/ns/prov# http://mlcommons.org/croissant/1.1 https://schema.org/",
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "https://www.wikidata.org/wiki/Q42",
        "https://huggingface.co/datasets/McGill-NLP/stereoset",
        "the university has a team; contact us: questions are open",
        "Annual bakers' notation",
        "Mild set: mild texts",
    ],
)
def test_ordinary_texts_and_addresses_of_standards_are_not_places(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "address",
    [
        *("someone@elsewhere.invalid", "https://elsewhere.invalid/x", "www.elsewhere.invalid"),
        *("https://huggingface.co/datasets/elsewhere/set", "https://arxiv.org.elsewhere.invalid/"),
        *("git://elsewhere.invalid/set.git", "file:///srv/set", "/home/somebody/models/small"),
        *("/Users/somebody/x.json", r"C:\Users\somebody\x.json", r"C:\\Users\\somebody\\x.json"),
    ],
)
def test_other_addresses_block(address: str) -> None:
    (place,) = scan({"LICENSE": address.encode()}, [])
    assert (place.kind, place.blocks) == ("address", True)


def test_a_word_that_cats_use_is_a_doubt_and_not_a_block() -> None:
    cats = b'{"context":"The Baker is BLANK."}'
    places = scan({"cats/x.jsonl": cats, "README.md": b"Terms moved to dev: baker."}, SECRETS)
    names = ("cats/x.jsonl", "README.md")
    assert places == [Place(name, 1, "baker", "word", False) for name in names]
    assert refusal(places) is None
    assert "'baker' 2 times, such as in README.md" in doubts(places)
    assert found("by Ann Baker", cats=cats)[0] == ("ann baker", "name", True)


def test_names_in_cats_are_doubts_but_known_addresses_are_not() -> None:
    text = "He met Ann Baker at http://shop.elsewhere and wrote to ann@uni-no.invalid."
    assert found(text, "dev.json") == [
        ("ann@uni-no.invalid", "address", True),
        ("http://shop.elsewhere", "address", False),
        ("ann baker", "name", False),
    ]


def test_values_in_parquet_are_searched(tmp_path: Path) -> None:
    rows = [{"context": "fine", "sentences": {"sentence": ["fine", "by Ann Baker"]}}]
    file = write_parquet(tmp_path / "test.parquet", rows)
    places = scan({"intersentence/test.parquet": file.read_bytes()}, SECRETS)
    assert [(p.line, p.found) for p in places] == [(1, "ann baker")]


def test_lower_case_words_of_an_approval_and_keys_of_the_facts_do_not_block() -> None:
    line = b'"needed": 3, approved by people'
    for secret in ("none needed", "Approved by people of Nowhere", "none"):
        assert refusal(scan({"release.json": line}, [secret])) is None
    assert refusal(scan({"release.json": b"at Nowhere"}, ["Approved by people of Nowhere"]))


def test_the_error_names_places_and_a_fix() -> None:
    places = scan({"README.md": b"x\nby Ann Baker\nann@uni-no.invalid\n"}, SECRETS)
    error = refusal(places)
    assert error is not None
    assert "README.md line 2: 'ann baker'" in error.what
    assert "7-release/statement.toml" in error.fix
