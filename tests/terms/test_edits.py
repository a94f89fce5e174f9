"""Manual edits in ``edits.csv``: reading, effects and errors."""

from typing import Any

import pytest

from curation.terms.lists import EDIT_COLUMNS, Edit, read_edits
from curation.terms.select import new_id
from support.expected import fails
from support.selected import choose
from support.written import beside

CASES = beside(__file__)

# --- reading --------------------------------------------------------------------------------------


def read(*lines: str) -> list[Edit]:
    """Edits from rows, the first of which is line 2."""
    rows = [dict(zip(EDIT_COLUMNS, line.split(","), strict=False)) for line in lines]
    return read_edits(enumerate(rows, 2), "E")


def test_edits_are_read_without_spaces_around_and_actions_in_any_case() -> None:
    rows = [(2, {" Domain": " d ", "term": "x  y ", "action": " Keep", "note": "n"})]
    assert read_edits(rows, "E") == [Edit(2, "d", "x y", "keep", note="n")]


@pytest.mark.parametrize(
    ("row", "says", "fix"),
    [
        ({"domain": "d", "term": "x", "note": "a", "": [" b"]},
         "E line 2: more cells than columns", "quotation marks"),
        ({"domain": "d", "term": "x", "aktion": "drop"},
         "E: unknown column 'aktion'", "domain, term, action"),
        ({"word": "x", "kin": "y"}, "E: no column 'domain'; it has word, kin",
         "use the columns domain, term, action, into, family, note"),
    ],
)  # fmt: skip
def test_columns_that_are_not_known_are_named(row: dict[str, Any], says: str, fix: str) -> None:
    with fails(says, fix=fix):
        read_edits([(2, row)], "E")


def test_columns_of_a_published_file_and_of_an_older_campaign_are_known() -> None:
    assert read_edits([(2, {"Bias_Type": "d", "Target": "x", "family": "f"})], "E") == [
        Edit(2, "d", "x", family="f")
    ]


@pytest.mark.parametrize(("line", "says", "fix"), CASES["unclear"])
def test_a_line_that_says_nothing_clear_is_named(line: str, says: str, fix: str) -> None:
    with fails("E line 3: ", says, fix=fix):
        read("d,a,keep", line)


# --- keep, add, drop ------------------------------------------------------------------------------

TABLE = {
    "Q1": ("baker", 50),
    "Q2": ("cook", 30),
    "Q3": ("clerk", 4),
    "Q4": ("Veltland", 9, [], {"classes": ["Q6256"]}),
    "Q6": ("Hahaha", 8),
    "Q7": ({"fr": "nonne"}, 7),
}


def test_keep_holds_against_every_rule() -> None:
    lines = ["clerk,keep", "Veltland,keep", "Hahaha,keep,,,they are called so"]
    found = choose(TABLE, min_count=100, edits=lines)
    assert found.kept == {"Veltland": 9, "Hahaha": 8, "clerk": 4}
    kept = found["Hahaha"]
    assert (kept.reason, kept.detail, kept.note) == ("edited", "", "they are called so")
    assert {t.reason for t in found.selection.terms} == {"edited"}
    # Also another demonym.
    table = {"Q1": ("Veltland", 9, [], {"demonyms": ["Veltlander", "Veltlandish"]})}
    found = choose(table, form="demonym", edits=["Veltlandish,keep"])
    assert found.families == {"Veltlander": "Veltland", "Veltlandish": "Veltland"}


def test_drop_takes_out_and_others_move_up() -> None:
    assert choose(TABLE, top=2).kept == {"baker": 50, "cook": 30}
    found = choose(TABLE, top=2, edits=["baker,drop,,,asked about already"])
    assert found.kept == {"cook": 30, "clerk": 4}
    assert found.fates["baker"] == "dropped edited"
    assert found["baker"].detail == "asked about already"
    assert choose(TABLE, edits=["Q1,drop"])["baker"].detail == "dropped"
    # Also what answers or a list name.
    found = choose(TABLE, met=["baker", "nun"], words=["cook"], edits=["baker,drop", "cook,drop"])
    assert set(found.kept) == {"clerk", "nun"}


def test_add_makes_a_term_that_nobody_else_knows() -> None:
    found = choose(TABLE, top=1, edits=["lighthouse keeper,add,,tower,not in Wikidata"])
    assert found.kept == {"baker": 50, "lighthouse keeper": 0}
    added = found["lighthouse keeper"]
    assert (added.source, added.reason, added.note) == ("edits", "edited", "not in Wikidata")
    assert found.families["lighthouse keeper"] == "tower"
    assert found.ids["lighthouse keeper"] == new_id("d", "lighthouse keeper")
    assert choose(TABLE, edits=["clerk,add"])["clerk"].source == "wikidata"  # it is there


def test_a_family_or_a_note_alone_keeps_nothing() -> None:
    found = choose(TABLE, min_count=40, edits=["baker,,,food,n", "clerk,,,food,n"])
    assert found.kept == {"baker": 50}
    assert found.families == {"baker": "food"}
    assert [found[text].note for text in ("baker", "clerk")] == ["n", "n"]


@pytest.mark.parametrize(("line", "missing"), CASES["unknown"])
def test_a_line_on_an_unknown_term_is_refused_and_stops_nothing(line: str, missing: str) -> None:
    found = choose(TABLE, edits=["clerk,drop", line])
    assert set(found.kept) == {"baker", "cook"}
    (refused,) = found.selection.rejections
    assert (refused.code, refused.where) == ("unknown_term", "E line 3")
    assert refused.detail.startswith(f"no term {missing!r} in domain 'd'; copy the term from")
    assert refused.record["action"] == line.split(",")[1]


# --- rename ---------------------------------------------------------------------------------------


def test_a_renamed_term_keeps_its_id_and_its_older_name() -> None:
    found = choose(TABLE, edits=["baker,rename,bread maker"])
    assert found.ids["bread maker"] == choose(TABLE).ids["baker"]
    term = found.term("bread maker")
    assert (term.names, term.reason, term.wikidata) == (("baker",), "edited", ("Q1",))
    assert found.kept["bread maker"] == 50
    taken = ["cook,drop", "baker,rename,cook"]  # also under the name of what is dropped
    for edits in (taken, taken[::-1]):
        assert choose(TABLE, edits=edits).ids["cook"] == new_id("d", "baker")


def test_a_renamed_term_stays_when_wikidata_and_answers_call_it_otherwise() -> None:
    table = TABLE | {"Q1": ("bread baker", 50)}
    found = choose(table, met={"baker": ["Q1"]}, edits=["baker,rename,bread maker"])
    assert found.ids["bread maker"] == new_id("d", "baker")
    assert "baker" not in found.fates


def test_renaming_by_its_item_gives_a_nameless_one_a_name() -> None:
    found = choose(TABLE, language="en", fallbacks=["fr"], edits=["Q7,rename,nun"])
    assert (found.kept["nun"], found["nun"].reason) == (7, "edited")
    assert choose(TABLE, fallbacks=["fr"]).fates["nonne"] == "dropped no_label"


@pytest.mark.parametrize("name", ["baker", "bread maker", "Q1"])
def test_other_lines_may_use_the_old_or_the_new_name(name: str) -> None:
    found = choose(TABLE, edits=[f"cook,merge,{name}", "baker,rename,bread maker"])
    assert found.kept["bread maker"] == 80
    found = choose(TABLE, edits=[f"{name},,,food", "baker,rename,bread maker"])
    assert found.families["bread maker"] == "food"


def refused(chosen: Any) -> list[tuple[str, str]]:
    """The lines that were not applied, with the reason."""
    rejections = chosen.selection.rejections
    assert all(rejection.code == "edit_conflict" for rejection in rejections)
    return [(rejection.where, rejection.detail) for rejection in rejections]


TAKEN = "which is another term already", "choose another name, or use the action merge"


@pytest.mark.parametrize("case", CASES["refused"])
def test_a_line_that_cannot_be_is_not_applied(case: dict[str, Any]) -> None:
    found = choose(TABLE, fallbacks=["fr"], edits=case["edits"])
    if "lost" in case:
        assert {"baker", "cook", "clerk"} - {*found.kept} == {*case["lost"]}
    ((where, detail),) = refused(found)
    assert where == f"E line {case['line']}"
    for part in case["says"]:
        assert part in detail


@pytest.mark.parametrize(
    ("met", "edits"),
    [
        (["baker", "cook"], ["baker,rename,cook"]),
        # If the first is not renamed, its name is not free.
        (["nun"], ["cook,rename,nun", "baker,rename,cook"]),
    ],
)
def test_a_rename_to_a_name_of_answers_is_not_applied(met: list[str], edits: list[str]) -> None:
    found = choose(TABLE, met=met, edits=edits)
    assert {*found.kept} == {"baker", "cook", "clerk", *met}
    where, detail = refused(found)[0]
    assert where == "E line 2"
    assert all(part in detail for part in TAKEN)


def test_a_rename_to_the_label_of_an_item_makes_one_term_of_both() -> None:
    found = choose(TABLE, edits=["baker,rename,cook"])
    assert found.kept == {"cook": 80, "clerk": 4}
    assert found.ids["cook"] == new_id("d", "baker")
    (note,) = found.selection.notes
    assert note.startswith("E line 2: 'cook' is also the text of Q2; both are one term now")
    assert refused(found) == []


@pytest.mark.parametrize("met", [["actor"], ["mime", "actor"], ["actor", "mime"]])
def test_a_rename_to_another_label_of_its_item_makes_one_term(met: list[str]) -> None:
    # The item has no label in the language, and answers have used both names of it.
    table = {"Q1": ({"fr": "actor"}, 9)}
    known = {text: ["Q1"] if text == "mime" else [] for text in met}
    found = choose(table, fallbacks=["fr"], met=known, edits=["Q1,rename,mime"])
    assert found.kept == {"mime": 9}
    (term,) = found.selection.terms
    assert ("actor" in term.names, term.wikidata) == (True, ("Q1",))
    assert term.id == new_id("d", met[0])  # the first that answers named keeps its id
    assert refused(found) == []


def test_a_rename_to_a_gendered_form_of_its_item_makes_one_term() -> None:
    table = {"Q1": ("performer", 9, [], {"masculine": ["actor"], "feminine": ["actress"]})}
    for met in ([], {"actor": ["Q1"]}, {"performer": ["Q1"], "actor": ["Q1"]}):
        found = choose(table, gendered=True, met=met, edits=["performer,rename,actor"])
        assert {*found.kept} == {"actor", "actress"}
        assert refused(found) == []


def test_a_renamed_term_may_be_merged_under_its_new_name() -> None:
    found = choose(TABLE, edits=["baker,rename,bread maker", "bread maker,merge,cook"])
    assert found.kept == {"cook": 80, "clerk": 4}
    assert {*found.term("cook").names} == {"baker", "bread maker"}
    assert refused(found) == []


def test_a_line_that_names_a_term_by_its_new_name_too_early_says_which_to_use() -> None:
    found = choose(TABLE, edits=["baker,rename,bread maker", "bread maker,drop"])
    assert "bread maker" in found.kept
    (rejection,) = found.selection.rejections
    assert rejection.code == "unknown_term"
    assert rejection.detail.endswith("line 2 gives 'baker' this name: write that name")


LIBRARIANS = {"Q1": ("librarian", 4), "Q2": ("librarian", 7), "Q3": ("cook", 30)}


@pytest.mark.parametrize("case", CASES["librarians"])
def test_an_item_dropped_by_its_id_is_no_longer_meant_by_its_text(case: dict[str, Any]) -> None:
    """Without that, what is said of a label holds for all its items."""
    edit = case["edit"]
    for edits in (["Q2,drop", edit], [edit, "Q2,drop"]):
        found = choose(LIBRARIANS, edits=edits)
        assert found.kept == case["kept"]
        if edit.endswith("books"):
            assert found.families["librarian"] == "books"
            assert found.term("librarian").wikidata == ("Q1",)
    found = choose(LIBRARIANS, edits=[edit])
    assert found.kept == case["together"]
    if "rename" in edit:
        assert sorted(found.term("archivist").wikidata) == ["Q1", "Q2"]


# --- merge ----------------------------------------------------------------------------------------


def test_merging_moves_statements_and_names() -> None:
    found = choose(TABLE, edits=["baker,merge,cook,,one trade"])
    assert found.kept == {"cook": 80, "clerk": 4}
    assert found.fates["baker"] == "merged edited cook"
    assert found["baker"].detail == "one trade"
    term = found.term("cook")
    assert (term.names, term.count) == (("baker",), 80)


@pytest.mark.parametrize("case", CASES["agreeing"])
def test_lines_that_agree(case: dict[str, Any]) -> None:
    found = choose(TABLE, edits=case["edits"], **case.get("options", {}))
    assert found.kept == case["kept"]
    assert refused(found) == []


@pytest.mark.parametrize(
    "edits",
    [
        ["baker,merge,cook", "cook,merge,clerk"],
        ["cook,merge,clerk", "baker,merge,cook"],
        ["baker,merge,Q2", "Q2,merge,Q3"],
    ],
)
def test_a_chain_of_merges_ends_at_its_end(edits: list[str]) -> None:
    found = choose({name: TABLE[name] for name in ("Q1", "Q2", "Q3")}, edits=edits)
    merged = {"baker": "merged edited cook", "cook": "merged edited clerk"}
    assert found.ends == merged | {"clerk": 84}
    assert sorted(found.term("clerk").names) == ["baker", "cook"]


def test_variants_may_be_merged_into_each_other() -> None:
    table = {"Q1": ("baker", 9), "Q2": ("Baker", 5)}
    for edit in ("baker,merge,Baker", "Baker,merge,baker"):
        assert list(choose(table, edits=[edit]).kept.values()) == [14]


def test_a_family_of_what_was_merged_goes_along_but_the_terms_own_counts_before() -> None:
    table = {"Q1": ("baker", 50), "Q2": ("bakers", 9), "Q3": ("cook", 30)}
    found = choose(table, edits=["bakers,,,food", "cook,,,food"])
    assert found.families == {"baker": "food", "cook": "food"}
    for edits in (["baker,,,food", "bakers,,,people"], ["bakers,,,people", "baker,,,food"]):
        assert choose(table, edits=edits).families["baker"] == "food"


def test_merging_by_people_comes_before_every_rule() -> None:
    table = {"Q1": ("actor", 9), "Q2": ("film actor", 5, ["Q1"]), "Q3": ("artist", 3)}
    found = choose(table, merge="all", edits=["film actor,merge,artist"])
    assert found.kept == {"actor": 9, "artist": 8}


def test_edits_of_terms_change_no_other_id() -> None:
    before = choose(TABLE)
    found = choose(TABLE, edits=["baker,rename,x", "clerk,merge,cook"])
    assert found.ids == {"x": before.ids["baker"], "cook": before.ids["cook"]}
