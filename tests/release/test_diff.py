"""What differs between two versions: hand-made cases, and properties that hold for any two."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.records import GOLDS, KINDS, Gold, SplitName
from curation.release import differences
from curation.release.contents import PublishedCat, PublishedOption
from curation.release.differences import Change, Difference, Version, difference

TEXTS = ("Early.", "Late.", "Magnetic.")
Cats = Sequence[PublishedCat]


def cat(name: str, *, golds: Sequence[Gold | None] = GOLDS, **fields: Any) -> PublishedCat:
    """A CAT whose associations are NAME-0, NAME-1 and NAME-2."""
    sentences = fields.pop("sentences", TEXTS)
    pairs = enumerate(zip(sentences, golds, strict=True))
    a, b, c = (PublishedOption(f"{name}-{n}", sentence, gold) for n, (sentence, gold) in pairs)
    about = (name, "intersentence", "craft", "baker", None, "test", f"A baker {name}.", 4)
    return PublishedCat(*about, (a, b, c))._replace(**fields)


def diff(before: Cats, after: Cats, **tables: Any) -> Difference:
    a = Version("A", tuple(before), tables.get("terms_before"))
    return difference(a, Version("B", tuple(after), tables.get("terms_after")))


def test_each_sort_of_change_is_named_with_field_before_and_after() -> None:
    before = [
        *(cat("same"), cat("gone"), cat("context"), cat("sentence"), cat("target"), cat("domain")),
        *(cat("tier"), cat("label"), cat("split", target="potter"), cat("kind")),
    ]
    after = [
        cat("new", target="fiddler"),
        cat("same"),
        cat("context", context="Another baker."),
        cat("sentence", sentences=("Early.", "Tardy.", "Magnetic.")),
        cat("target", target="cook"),
        cat("domain", domain="trade"),
        cat("tier", tier=None),
        cat("label", golds=("anti-stereotype", "stereotype", "unrelated")),
        cat("split", target="potter", split="dev"),
        cat("kind", kind="intrasentence"),
    ]
    changed = diff(before, after)
    assert list(changed.changes) == [
        Change("new", "added"),
        Change("context", "changed", "context", None, "A baker context.", "Another baker."),
        Change("sentence", "changed", "sentence", "sentence-1", "Late.", "Tardy."),
        Change("target", "changed", "target", None, "baker", "cook"),
        Change("domain", "changed", "domain", None, "craft", "trade"),
        Change("tier", "changed", "tier", None, 4, None),
        Change("label", "relabelled", "gold_label", "label-0", "stereotype", "anti-stereotype"),
        Change("label", "relabelled", "gold_label", "label-1", "anti-stereotype", "stereotype"),
        Change("split", "moved", "split", None, "test", "dev"),
        Change("kind", "changed", "kind", None, "intersentence", "intrasentence"),
        Change("gone", "removed"),
    ]
    assert changed.to_dev == (("craft", "potter"),)
    assert changed.to_test == changed.seen == changed.renamed == ()
    facts = differences.difference_facts(changed)
    assert facts.model_dump() == {
        "previous": "A", "added": 1, "removed": 1, "changed": 6, "relabelled": 1, "moved": 1,
        "renumbered": 0, "hidden": 0, "listed": 10, "sealed": False,
        "fields": {"context": 1, "domain": 1, "kind": 1, "sentence": 1, "target": 1, "tier": 1},
        "terms_to_dev": ("potter (craft)",), "terms_to_test": (),
    }  # fmt: skip
    rows = {(row.split, row.kind): row for row in differences.difference_counts(changed)}
    assert rows["test", "intersentence"][2:] == (10, 8, 1, 1, 5, 1, 0, 0)
    assert rows["dev", "intersentence"][2:] == (0, 1, 0, 0, 0, 0, 1, 0)
    assert rows["test", "intrasentence"][2:] == (0, 1, 0, 0, 1, 0, 0, 0)
    assert differences.fields_changed(changed) == {
        "context": 1, "domain": 1, "gold_label": 1, "kind": 1, "sentence": 1, "split": 1,
        "target": 1, "tier": 1,
    }  # fmt: skip
    assert differences.domains(changed) == ([], ["trade"])


def test_cats_with_new_ids_and_the_same_texts_are_recognised() -> None:
    old = cat("old", context="A baker.")
    new = cat("new", context="a  Baker.", sentences=("Magnetic.", "Early.", "Late."),
              golds=("unrelated", "anti-stereotype", "stereotype"))  # fmt: skip
    changed = diff([old, cat("x", context="Other.")], [cat("y", context="Third."), new])
    assert list(changed.changes) == [
        Change("y", "added"),
        Change("new", "renumbered", "id", None, "old", "new"),
        Change("new", "renumbered", "id", "new-0", "old-2", "new-0"),
        Change("new", "renumbered", "id", "new-1", "old-0", "new-1"),
        Change("new", "renumbered", "id", "new-2", "old-1", "new-2"),
        Change("new", "changed", "context", None, "A baker.", "a  Baker."),
        Change("new", "relabelled", "gold_label", "new-1", "stereotype", "anti-stereotype"),
        Change("new", "relabelled", "gold_label", "new-2", "anti-stereotype", "stereotype"),
        Change("x", "removed"),
    ]


def test_gold_labels_and_tiers_of_hidden_cats_are_not_compared_and_not_in_the_errata() -> None:
    old = [cat("old", context="A baker."), cat("gone"), cat("open")]
    hidden: dict[str, Any] = {"golds": (None,) * 3, "tier": None}
    new = [cat("r1", context="A baker.", **hidden), cat("r2", **hidden), cat("open", tier=5)]
    changed = diff(old, new)
    assert changed.not_compared == 1
    assert changed.ids("relabelled") == set()
    assert [c.field for c in changed.changes if c.what == "changed"] == ["tier"]
    assert [(c.id, c.what) for c in changed.open_changes()] == [
        ("open", "changed"), ("gone", "removed"),
    ]  # fmt: skip
    back = diff(new, old)
    assert [(c.id, c.what) for c in back.open_changes()] == [
        ("gone", "added"), ("open", "changed"),
    ]  # fmt: skip


def test_an_association_that_was_exchanged_is_a_changed_sentence() -> None:
    before = cat("c")
    first, _, third = before.options
    other = PublishedOption("c-9", "Sleepy.", "anti-stereotype")
    changed = diff([before], [before._replace(options=(third, other, first))])
    assert list(changed.changes) == [
        Change("c", "renumbered", "id", "c-9", "c-1", "c-9"),
        Change("c", "changed", "sentence", "c-9", "Late.", "Sleepy."),
    ]


# --- terms ----------------------------------------------------------------------------------------


def test_terms_that_move_are_named_as_they_are_called_now() -> None:
    same = cat("c", target="cook", split="dev")
    changed = diff(
        [cat("a", split="dev"), cat("b", target="potter"), same],
        [cat("a", target="bread baker"), cat("b", target="potter", split="dev"), same],
    )
    assert changed.renamed == ((("craft", "baker"), ("craft", "bread baker")),)
    assert changed.to_test == (("craft", "bread baker"),)
    assert changed.to_dev == (("craft", "potter"),)
    assert changed.seen == ("a",)


def test_a_term_whose_cats_are_all_new_is_known_by_the_table_of_terms() -> None:
    before, after = [cat("a", split="dev")], [cat("b", target="bread baker", context="New.")]
    assert diff(before, after).to_test == ()
    tables = ({("craft", "baker"): "t1"}, {("craft", "bread baker"): "t1"})
    changed = diff(before, after, terms_before=tables[0], terms_after=tables[1])
    assert changed.to_test == (("craft", "bread baker"),)
    assert changed.seen == ()


def test_a_merged_term_is_not_a_renamed_one_but_its_dev_cats_in_test_are_seen() -> None:
    before = [cat("a", split="dev"), cat("b", target="cook")]
    after = [cat("a", target="cook"), cat("b", target="cook")]
    changed = diff(before, after)
    assert changed.renamed == changed.to_test == ()
    assert changed.seen == ("a",)


def test_a_dev_text_in_test_under_another_id_is_seen_although_the_old_one_stays() -> None:
    old = cat("a", split="dev", context="A baker.")
    copy = cat("z", target="cook", context="A  BAKER.")
    changed = diff([old], [old, copy])
    assert changed.seen == ("z",)
    assert changed.ids("added") == {"z"}


def test_a_text_that_was_in_both_splits_is_not_news() -> None:
    cats = [cat("a", split="dev", context="A baker."), cat("b", context="A baker.")]
    assert diff(cats, cats).seen == ()
    assert diff(cats, [cats[0]._replace(split="test"), cats[1]]).seen == ("a",)


def test_versions_without_splits_are_not_compared_by_split() -> None:
    before = Version("A", (cat("a", split="dev"),), None, has_splits=False)
    changed = difference(before, Version("B", (cat("a"),)))
    assert changed.empty
    assert changed.seen == ()


# --- properties -----------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
WORDS = st.sampled_from(["one", "two", "three"])


@st.composite
def a_cat(draw: st.DrawFn, name: str) -> PublishedCat:
    ids = draw(st.lists(st.integers(0, 4), min_size=3, max_size=3, unique=True))
    golds = draw(st.permutations(GOLDS))
    pairs = zip(ids, golds, strict=True)
    options = [PublishedOption(f"{name}-{n}", draw(WORDS), gold) for n, gold in pairs]
    split: SplitName = draw(st.sampled_from(["dev", "test"]))
    return PublishedCat(
        *(name, draw(st.sampled_from(KINDS)), draw(WORDS), draw(WORDS), None, split, draw(WORDS)),
        *(draw(st.sampled_from([3, 4, 5])), tuple(options)),  # type: ignore[arg-type]
    )


@st.composite
def versions(draw: st.DrawFn) -> list[PublishedCat]:
    return [draw(a_cat(name)) for name in draw(st.lists(NAMES, unique=True, max_size=4))]


@given(versions())
@settings(max_examples=20, deadline=None)
def test_a_version_does_not_differ_from_itself(cats: list[PublishedCat]) -> None:
    changed = diff(cats, cats)
    assert changed.empty
    assert changed.changes == changed.seen == changed.renamed == ()
    assert diff(cats, cats[::-1]).empty


def _in_both(cats: list[PublishedCat]) -> set[tuple[str, str]]:
    """The terms that are in both splits."""
    dev = {c[2:4] for c in cats if c.split == "dev"}
    return dev & {c[2:4] for c in cats if c.split == "test"}


@given(versions(), versions())
@settings(max_examples=40, deadline=None)
def test_the_other_way_round_is_the_mirror(a: Cats, b: Cats) -> None:
    there, back = diff(a, b), diff(b, a)
    ids = {pair.after.id: pair.before.id for pair in there.pairs}
    options = {now.id: was.id for pair in there.pairs for was, now in pair.options}
    turn = {"added": "removed", "removed": "added"}
    mirrored = {
        (ids.get(c.id, c.id), turn.get(c.what, c.what), c.field,
         options[c.sentence] if c.sentence else None, c.after, c.before)
        for c in there.changes
    }  # fmt: skip
    assert mirrored == set(map(tuple, back.changes))
    if not there.renamed:
        # A term that is in both splits of a version moved only in one direction.
        once = {c[2:4] for c in (*a, *b)} - _in_both(a) - _in_both(b)
        assert set(there.to_test) & once == set(back.to_dev) & once
        assert set(there.to_dev) & once == set(back.to_test) & once
    assert {(r.after, r.before) for r in there.renamed} == set(map(tuple, back.renamed))


@given(versions(), versions())
@settings(max_examples=40, deadline=None)
def test_errata_give_the_labels_of_the_later_version(a: Cats, b: Cats) -> None:
    changed = diff(a, b)
    added = changed.ids("added")
    assert differences.labels_after(a, changed.changes) == {
        c.id: {o.id: o.gold for o in c.options} for c in b if c.id not in added
    }


# --- files ----------------------------------------------------------------------------------------


def test_errata_as_text_for_programs_and_for_people() -> None:
    changed = diff(
        [cat("a", split="dev"), cat("b*", context="One | two")],
        [cat("a", golds=("unrelated", "anti-stereotype", "stereotype"))],
    )
    lines = differences.errata_text(changed.open_changes()).splitlines()
    assert lines[0] == (
        '{"id":"a","what":"relabelled","field":"gold_label","sentence":"a-0",'
        '"before":"stereotype","after":"unrelated"}'
    )
    nothing = '"field":null,"sentence":null,"before":null,"after":null'
    assert lines[-1] == f'{{"id":"b*","what":"removed",{nothing}}}'
    page = differences.errata_markdown(changed, changed.open_changes())
    assert page.startswith("# Errata: from A to B\n")
    listed = "- a, association a-0: gold_label was «stereotype», is "
    assert f"## 1 CAT: other gold labels\n\n{listed}" in page
    assert "- b\\*\n" in page
    assert differences.errata_text([]) == ""
    assert "No CAT differs." in differences.errata_markdown(diff([], []), [])


@pytest.mark.parametrize(
    "what", ["added", "removed", "changed", "relabelled", "moved", "renumbered"]
)
def test_no_difference_has_no_ids(what: Any) -> None:
    assert diff([cat("a")], [cat("a")]).ids(what) == set()
