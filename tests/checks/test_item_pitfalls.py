"""The pitfalls that are reported when an item comes in."""

from pathlib import Path
from typing import Any

import pytest

from curation.checks import lexical
from curation.checks.lexical import item_pitfalls
from curation.kinds import GOLDS
from curation.records import Association, Item, Pitfall, Term
from support.expected import fails

BAKER = Term(id="t", text="baker", domain="profession")
TERMS = {"t": BAKER}


def item(*sentences: str, context: str = "The bakers came.", **changes: Any) -> Item:
    a, b, c = (
        Association(id=f"a{n}", sentence=s, intent=gold)
        for n, (s, gold) in enumerate(zip(sentences, GOLDS, strict=True))
    )
    kind = "intrasentence" if "BLANK" in context else "intersentence"
    whole = Item(id="i", kind=kind, term="t", context=context, associations=(a, b, c), round="main")
    return whole.model_copy(update=changes)


def reported(one: Item, **options: Any) -> list[Pitfall]:
    return list(item_pitfalls([one], **{"terms": TERMS, "language": "en"} | options))


def test_an_answer_gets_warnings_and_no_notes() -> None:
    bare = item("He was not up so early", "He got up late.", "Tin.")
    found = reported(bare)
    assert [(one.code, one.association) for one in found] == [
        ("punctuation_missing", "a0"), ("punctuation_mixed", None), ("lengths_differ", None),
        ("negation_one_sided", None),
    ]  # fmt: skip
    about = {(one.severity, one.item, one.target, one.where) for one in found}
    assert about == {("warn", "i", "baker", "item i")}
    a, b, c = bare.associations
    named = a.model_copy(update={"intent": None, "published_gold": "stereotype"})
    assert found == reported(bare.model_copy(update={"associations": (named, b, c)}))


def test_its_words_are_checked_too() -> None:
    context, *words = "The baker is BLANK.", "gentle", "quickly", "intelligant"
    found = reported(item(*(context.replace("BLANK", word) for word in words), context=context))
    assert [(one.code, one.association, one.detail) for one in found] == [
        ("misspelt_word", "a2", "'intelligant' for 'intelligent'?"),
        ("word_class_pair", None, "'quickly' (ADV) for 'gentle' (ADJ, VERB)"),
    ]


def test_in_another_language_what_cannot_be_checked_is_not_said() -> None:
    german = item("Er ist keine intelligant Frau.", "Er ist hier froh.", "Zinn schmilzt sofort.",
                  context="Der baker kam.")  # fmt: skip
    assert [one.code for one in reported(german, language="de")] == ["negation_one_sided"]
    assert reported(german, language="tlh") == []


def test_without_the_packages_the_form_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ImportError

    monkeypatch.setattr(lexical, "_word_classes", missing)
    found = reported(item("He is intelligant", "He is late.", "Tin melts fast."))
    assert [one.code for one in found] == ["punctuation_missing", "punctuation_mixed"]
    monkeypatch.setattr(lexical, "lexicon", None)
    assert list(item_pitfalls([], TERMS, language="en")) == []


def test_a_term_may_be_named_by_what_it_was_called() -> None:
    sound = item("He rose.", "He slept.", "Tin melts.", context="The bread-maker came.")
    assert [(one.code, one.severity) for one in reported(sound)] == [("target_missing", "block")]
    assert reported(sound, name_target=False) == []
    renamed = BAKER.model_copy(update={"names": ("bread-maker",)})
    (hit,) = reported(sound, terms={"t": renamed})
    assert (hit.code, hit.severity) == ("target_renamed", "warn")
    assert hit.detail == "'bread-maker', not 'baker', is in 'The bread-maker came.'"
    assert reported(sound, terms={"t": renamed}, name_target=False) == []


def test_a_team_s_own_words_count(tmp_path: Path) -> None:
    own = tmp_path / "words.csv"
    own.write_text("language,list,word\nen,public_figure,Zephyrina\n", "utf-8")
    figure = item("He met Zephyrina.", "He slept late.", "Tin melts fast.")
    assert "public_figure" not in {one.code for one in reported(figure)}
    assert "public_figure" in {one.code for one in reported(figure, own=own)}
    own.write_text("language,list,word\nen,figures,Zephyrina\n", "utf-8")
    with fails("words.csv line 2: no list is called 'figures'"):
        reported(figure, own=own)
