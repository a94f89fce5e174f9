"""Training sets: the shipped ones, a campaign's own, and what is wrong in one."""

from pathlib import Path

import pytest

from curation.files import shipped
from curation.kinds import ACTIONS, GOLDS, KINDS, ROUND_KINDS, RoundKindName
from curation.rounds.platforms.pages import COLUMNS, TrainingExample, read_training
from support.expected import fails

LANGUAGES = sorted(path.stem for path in shipped("data", "training").glob("*.csv"))
HEAD = ",".join(COLUMNS)
LINE = ",baker,The baker is BLANK.,The baker is early.,stereotype,Many believe it."
NOWHERE = Path("nowhere.csv")


def own(folder: Path, *lines: str, head: str = HEAD) -> Path:
    path = folder / "training.csv"
    path.write_text("\n".join([head, *lines]), "utf-8")
    return path


def test_english_and_indonesian_are_shipped() -> None:
    assert LANGUAGES == ["en", "id"]
    assert read_training(NOWHERE, "ja", "validation") == ()
    assert read_training(NOWHERE, "en-GB", "review") == read_training(NOWHERE, "en", "review")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_shipped_set_has_every_answer_and_a_reason_each(language: str) -> None:
    sentences = read_training(NOWHERE, language, "validation")
    assert 8 <= len(sentences) <= 10
    assert len({each.target for each in sentences}) == 3
    assert {each.label for each in sentences} == set(GOLDS)
    assert len({each.text for each in sentences}) == len(sentences)
    assert all(len(each.why) > 20 for each in sentences)
    assert any("BLANK" in each.context for each in sentences)
    for kind in (*KINDS, "neutral"):
        written = read_training(NOWHERE, language, kind)
        assert len(written) >= 4
        assert {each.label for each in written} == {"good", "bad"}
        assert all(len(each.why) > 20 for each in written)
        if kind in KINDS:
            gaps = {"BLANK" in each.context for each in written}
            assert gaps == {kind == "intrasentence"}
    terms = read_training(NOWHERE, language, "review")
    assert len(terms) == 4
    assert {each.label for each in terms} == set(ACTIONS)
    assert not {each.text for each in terms} & {each.target for each in sentences}


def test_a_campaigns_own_set_replaces_the_shipped_one(tmp_path: Path) -> None:
    path = own(
        tmp_path,
        LINE,
        ",baker,He came in.,  He   sang. , Antistereotip ,Few believe it.",
        "validation,baker,He came in.,Rain fell.,meaningless,Of something else.",
        "review,,,baker,simpan,Known.",
        "intersentence,baker,He came in.,He sang. | He wept. | Rain fell.,Good,So it should be.",
    )
    expected = TrainingExample(
        *("", "baker", "He came in.", "He sang.", "anti-stereotype", "Few believe it.")
    )
    every = {kind: read_training(path, "en", kind) for kind in ROUND_KINDS}
    assert [len(every[kind]) for kind in ROUND_KINDS] == [1, 0, 1, 3, 0]
    assert every["validation"][1] == expected
    assert every["intersentence"][0].label == "good"
    assert every["validation"][2].label == "unrelated"
    assert every["review"][0].label == "keep"


@pytest.mark.parametrize(
    ("line", "says", "fixes"),
    [
        ("reviews,,,baker,keep,Known.", "line 2: no kind of round 'reviews'", "use review"),
        (",baker,It rains.,He sang.,,", "line 2: label, why: empty", "fill it in"),
        (",,It rains.,He sang.,stereotype,So.", "line 2: target: empty", "fill it in"),
        ("review,,,,keep,Known.", "line 2: text: empty", "fill it in"),
        (",baker,It rains.,He sang.,related,So.", "'related' is not the answer", "stereotype"),
        (",baker,It rains.,He sang.,keep,So.", "line 2: 'keep' is not the answer", "unrelated"),
        ("review,,,baker,unrelated,So.", "line 2: 'unrelated' is not the", "keep, merge, drop"),
        (",baker,He is BLANK.,She is old.,stereotype,So.", "not the context with", "repeat the"),
        (",baker,It rains.,He sang.,stereotype,So, it is.", "line 2: more cells", "quotation"),
        ("neutral,baker,It rains.,He sang.,stereotype,So.", "'stereotype' is not", "good, bad"),
        (
            "intrasentence,baker,He is BLANK.,shy | loud,good,So.",
            "the text is not the 3 texts of an item",
            "put | between stereotype, anti-stereotype and unrelated",
        ),
    ],
)
def test_a_wrong_line_is_named_with_a_fix(tmp_path: Path, line: str, says: str, fixes: str) -> None:
    kind: RoundKindName = "review"
    with fails("training.csv", says, fix=fixes):
        read_training(own(tmp_path, line), "en", kind)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with fails("training.csv: no column label, why; it has kind, target", fix="use the columns"):
        read_training(own(tmp_path, head="kind,target,context,text"), "en", "review")
