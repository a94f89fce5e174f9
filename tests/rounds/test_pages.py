"""Texts, forms, instructions, and the data of a task that leaves the campaign."""

import json
import re
import tomllib
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.files import shipped
from curation.formats import table_words
from curation.kinds import ACTIONS, CAT_KINDS, GOLDS, ROUND_KINDS, ROUNDS, RoundKindName
from curation.models.chat import read_prompts
from curation.records import FLAGS, Shown, Task
from curation.rounds.platforms import pages
from curation.rounds.platforms.texts import skeleton
from support.expected import fails

SHIPPED = shipped("annotation_configs", "text")
LANGUAGES = sorted(path.stem for path in SHIPPED.glob("*.toml"))
ENGLISH = tomllib.loads((SHIPPED / "en.toml").read_text("utf-8"))
ENGLISH_TEXTS = pages.texts("en", None)
STUDY = {"institution": "the Academy", "ethics": "board 7", "contact": "a@b.example"}
PAY = ("0.40", "EUR")
WEB = Path(pages.__file__).parent / "web"
SEEN = {"value", "hint", "placeholder", "requiredMessage", "title"}  # attributes that people read


def own(folder: Path, text: str) -> Path:
    path = folder / "text.toml"
    path.write_text(text, "utf-8")
    return path


def toml(texts: dict[str, dict[str, Any]]) -> str:
    """The texts as TOML; strings and lists of strings are the same in JSON and TOML."""
    return "\n".join(
        "\n".join([f"[{name}]", *(f"{key} = {json.dumps(said)}" for key, said in keys.items())])
        for name, keys in texts.items()
    )


def marked() -> dict[str, dict[str, Any]]:
    """The shipped texts, each replaced by a unique mark."""

    def mark(name: str, said: Any) -> Any:
        lines = isinstance(said, list)
        return [f"«{name}.{n}»" for n in range(len(said))] if lines else f"«{name}»"

    marks = {s: {k: mark(f"{s}.{k}", v) for k, v in keys.items()} for s, keys in ENGLISH.items()}
    marks["writing"]["blank"] = "«BLANK»"
    marks["intrasentence"]["template"] += "{blank}"
    return marks | {"page": {"direction": "ltr", "read_by": "me"}}


def controls(kind: RoundKindName, texts: pages.Texts) -> dict[str, ET.Element]:
    root = ET.fromstring(pages.config(kind, texts))
    return {e.attrib["name"]: e for e in root.iter() if "toName" in e.attrib}


def aliases(control: ET.Element) -> list[str]:
    return [choice.attrib["alias"] for choice in control.iter("Choice")]


# --- the texts ------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_shipped_language_is_whole(language: str) -> None:
    said = pages.texts(language, None, study=STUDY, pay=PAY)
    every = ENGLISH | table_words.shipped_texts(language)
    assert {s: set(keys) for s, keys in said.items()} == {s: set(k) for s, k in every.items()}
    assert not pages.missing_facts(said)
    blank = said["writing"]["blank"]
    for kind in ROUND_KINDS:
        shown = pages.config(kind, said) + pages.instruction(kind, said)
        assert blank == "BLANK" or "BLANK" not in shown
        assert (kind in ("intrasentence", "neutral")) == (blank in shown)


def marks_of(text: str) -> tuple[list[int], set[str]]:
    """How many bold and italic parts a text has, and what is filled in: facts, values of a page."""
    counts = [len(re.findall(mark, text)) for mark in (BOLD, ITALICS)]
    return counts, set(re.findall(r"\{\w*\}|\[[a-z]+\]", text))


BOLD, ITALICS = r"\*\*[^*]+\*\*", r"(?<!\*)\*[^*]+\*(?!\*)"


def closes(text: str) -> bool:
    """Whether Markdown sees where each mark ends: not between punctuation and a letter.

    Only a text without spaces between its words can be wrong here.
    """
    parts = [match.span() for mark in (BOLD, ITALICS) for match in re.finditer(mark, text)]
    ends = [text[end - 3 : end + 1] for _, end in parts]
    starts = [text[max(start - 1, 0) : start + 3] for start, _ in parts]
    return not any(re.search(r"[^\w\s*]\*+\w", end) for end in ends) and not any(
        re.search(r"\w\*+[^\w\s*{]", start) for start in starts
    )


@pytest.mark.parametrize("folder", ["text", "tables"])
@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_every_text_is_as_in_english_in_all_but_its_words(language: str, folder: Any) -> None:
    english = table_words.read_shipped(folder, "en")
    texts = table_words.read_shipped(folder, language)
    assert {s: list(keys) for s, keys in texts.items()} == {s: list(k) for s, k in english.items()}
    for section, keys in english.items():
        if section.endswith("_words"):  # each language has its own
            continue
        for key, text in keys.items():
            own = texts[section][key]
            assert type(own) is type(text), key
            pairs = [(own, text)] if isinstance(text, str) else [*zip(own, text, strict=True)]
            for mine, theirs in pairs:
                assert marks_of(mine) == marks_of(theirs), f"{section}.{key}"
                is_name = section in ("page", "study") or key in ("version", "merge_choices")
                is_name |= mine == "{typing}"
                assert is_name or mine != theirs, f"{section}.{key} is not translated"
                assert closes(mine), f"{section}.{key}"


def test_a_mark_between_punctuation_and_a_letter_is_seen() -> None:
    assert closes("**注意**。人が。") and closes("*The baker.* Then.")  # noqa: PT018
    assert not closes("**注意。**人が。")
    assert not closes("人**「注意」**。")


def test_the_words_for_the_gap_are_no_words_of_a_sentence() -> None:
    words = {name: pages.texts(name, None)["writing"]["blank"] for name in LANGUAGES}
    assert words == {"ar": "[فراغ]", "en": "BLANK", "id": "RUMPANG", "ja": "［空欄］"}


def test_a_campaigns_own_texts_stand_in_key_by_key(tmp_path: Path) -> None:
    path = own(tmp_path, '[review]\nkeep = "Hold"\nrules = ["One."]\n[study]\nlicence = "CC0"')
    said = pages.texts("en", pages.read_own("en", path), study={"licence": "MIT", "contact": "me"})
    assert said["review"]["keep"] == "Hold"
    assert said["review"]["rules"] == ["One."]
    assert said["review"]["drop"] == ENGLISH["review"]["drop"]
    assert said["study"]["licence"] == "CC0", "the team's file has the last word"
    assert said["study"]["contact"] == "me"
    assert any("CC0" in line for line in said["consent"]["lines"])


def test_a_missing_file_or_a_variety_of_a_language_changes_nothing(tmp_path: Path) -> None:
    assert pages.texts("en", pages.read_own("en", tmp_path / "text.toml")) == ENGLISH_TEXTS
    assert pages.texts("en-GB", None) == ENGLISH_TEXTS


def test_what_nobody_said_of_the_study_is_left_out_and_named() -> None:
    said = pages.texts("en", None)
    assert pages.missing_facts(said) == ["institution", "ethics", "contact"]
    every = json.dumps({s: keys for s, keys in said.items() if s != "study"})
    assert not re.search(r"\{\w*\}", every)
    assert "carried out by" not in every
    assert "Pay" not in re.findall(r"<h4>(.*?)</h4>", pages.instruction("review", said))
    whole = pages.texts("en", None, study=STUDY, pay=PAY)
    for kind in ROUND_KINDS:
        assert all(fact in pages.instruction(kind, whole) for fact in (*STUDY.values(), *PAY)), kind


@pytest.mark.parametrize(
    ("text", "says", "fixes"),
    [
        ("[reviews]\nkeep = 'x'", "reviews: no such section", "did you mean 'review'?"),
        ("[review]\nkeeep = 'x'", "review.keeep: no such text", "did you mean 'keep'?"),
        ("[review]\nzzz = 'x'", "review.zzz: no such text", "known names: intro, rules"),
        ("review = 'x'", "review: it is not a section", "write [review] above it"),
        ("[review]\nkeep = ['x']", "review.keep: wrong type", 'write "text"'),
        ("[review]\nrules = 'x'", "review.rules: wrong type", 'write ["one line", "another"]'),
        ("[review]\nrules = [1]", "review.rules: wrong type", "write ["),
        ("[consent]\nversion = 2", "consent.version: wrong type", 'write "text"'),
        ("[review]\nkeep = ' '", "review.keep: it is empty", "leave the key out"),
        ("[study]\npay = '1 EUR'", "study.pay: no such text", "known names: institution"),
        ("[writing]\nblank = 'gap'", "writing.blank: 'gap' may be an ordinary word", "[gap]"),
        ("[writing]\nblank = 'A'", "writing.blank: 'A' may be an ordinary word", "[gap]"),
        ("[writing]\nblank = 'THE GAP'", "'THE GAP' may be an ordinary word", "[gap]"),
        ('[review]\nkeep = "a\\u0001"', "review.keep: it has a control character", "remove it"),
        ("[review]\nkeep = 'by {contakt}'", "no fact {contakt}", "did you mean 'contact'?"),
        ("[review]\nkeep = '{}'", "no fact {}", "known names: institution"),
        ("[page]\ndirection = 'left'", "page.direction: it is neither ltr nor rtl", '"rtl"'),
        ("[review]\nkeep = ", "text.toml: ", "see the shipped file"),
    ],
)
def test_a_wrong_text_is_named_with_a_fix(tmp_path: Path, text: str, says: str, fixes: str) -> None:
    with fails(says, "text.toml", fix=fixes):
        pages.texts("en", pages.read_own("en", own(tmp_path, text)))


def test_another_language_needs_every_text(tmp_path: Path) -> None:
    with fails("no texts in the language 'sw' are shipped", fix="curation rounds texts sw"):
        pages.texts("sw", None)
    with fails("consent.box", fix="curation rounds texts sw --to FILE") as caught:
        pages.texts("sw", pages.read_own("sw", own(tmp_path, toml({"review": ENGLISH["review"]}))))
    assert "review.keep" not in caught.value.what
    said = pages.texts("sw", pages.read_own("sw", own(tmp_path, toml(marked()))))
    assert said["review"]["keep"] == "«review.keep»"


# --- consent --------------------------------------------------------------------------------


def test_the_consents_version_follows_its_text(tmp_path: Path) -> None:
    plain = pages.consent_version(pages.texts("en", None))
    assert re.fullmatch(r"1-[0-9a-f]{6}", plain)
    assert pages.consent_version(pages.texts("en", None)) == plain
    texts = ('lines = ["Other."]', 'box = "Yes"', 'version = "2"', '[study]\ncontact = "me"')
    changed = [
        pages.consent_version(
            pages.texts("en", pages.read_own("en", own(tmp_path, f"[consent]\n{text}")))
        )
        for text in texts
    ]
    assert len({plain, *changed}) == 5
    assert changed[2] == "2" + plain[1:]
    same = own(tmp_path, '[instruction]\npay = ["5 €"]\n[review]\nkeep = "Hold"')
    assert pages.consent_version(pages.texts("en", pages.read_own("en", same))) == plain, (
        "it is no part of the consent"
    )


def test_the_consent_can_be_kept_as_it_was_read() -> None:
    said = pages.texts("en", None, study=STUDY)
    kept = pages.consent_text(said)
    assert all(line in kept for line in said["consent"]["lines"])
    assert "a@b.example" in kept


# --- forms and instructions -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ROUND_KINDS)
def test_a_forms_controls_are_the_fields_of_its_answers(kind: RoundKindName) -> None:
    said = pages.texts("en", None)
    there = controls(kind, said)
    assert list(there) == [*ROUNDS[kind].fields, "consent"]  # in the order in which it asks
    assert aliases(there["consent"]) == [pages.consent_version(said)]
    free = {name for name, c in there.items() if c.attrib.get("required") != "true"}
    assert free == {"review": {"rename"}, "validation": {"flags"}}.get(kind, set())
    assert all("requiredMessage" in c.attrib for c in there.values() if "required" in c.attrib)


def test_writers_are_asked_as_in_the_paper() -> None:
    # ACL §4.2, arXiv Figures 2 and 3: intrasentence the words come before the sentence,
    # intersentence the context before what follows it.
    words = ("stereotype", "anti_stereotype", "unrelated")
    assert ROUNDS["intrasentence"].fields == (*words, "template")
    assert ROUNDS["intersentence"].fields == ("context", *words)
    # The unrelated text is unrelated to both of the others, and to the context sentence.
    assert "either" in ENGLISH["intrasentence"]["unrelated_hint"]
    assert "any of the sentences" in ENGLISH["intersentence"]["unrelated_hint"]


def test_a_forms_choices_are_the_values_of_its_answers() -> None:
    said = pages.texts("en", None)
    validation, review = controls("validation", said), controls("review", said)
    assert all(aliases(validation[f"label_{n}"]) == list(GOLDS) for n in (1, 2, 3))
    assert aliases(validation["flags"]) == list(FLAGS)
    assert aliases(review["decision"]) == ["keep", "merge", "drop"]


@pytest.mark.parametrize("kind", ROUND_KINDS)
def test_every_word_of_a_form_comes_from_the_texts(kind: RoundKindName, tmp_path: Path) -> None:
    root = ET.fromstring(
        pages.config(kind, pages.texts("en", pages.read_own("en", own(tmp_path, toml(marked())))))
    )
    for element in root.iter():
        words = [element.attrib.get(name, "") for name in SEEN]
        words += [] if element.tag == "Style" else [element.text or "", element.tail or ""]
        for word in words:
            left = re.sub(r"«[^»]*»", "", word)
            assert re.fullmatch(r"[\s*-]*|\$\w+", left), f"{element.tag}: {left!r}"


def test_every_text_is_read_somewhere(tmp_path: Path) -> None:
    marks = marked()
    marks["consent"]["lines"].append("{typing}")
    said = pages.texts("en", pages.read_own("en", own(tmp_path, toml(marks))), typing=True)
    task = Task(id="t", term="x", domain="d", target="x", wanted=1)
    outputs = [json.dumps(pages.task_data(task, "review", texts=said), ensure_ascii=False)]
    outputs += [f(kind, said) for f in (pages.config, pages.instruction) for kind in ROUND_KINDS]
    outputs.append(said["content_warning"]["release"])  # for a release's card
    every = set(re.findall("«[^»]*»", json.dumps(marked(), ensure_ascii=False)))
    unread = {mark for mark in every if not any(mark in output for output in outputs)}
    assert {mark for mark in unread if not mark.startswith(("«study.", "«web."))} == set()


def test_every_text_of_the_pages_is_used() -> None:
    files = [path for path in WEB.rglob("*") if path.suffix in (".py", ".html", ".js")]
    sources = "\n".join(path.read_text("utf-8") for path in files)

    def is_used(key: str) -> bool:
        family = key.partition("_")[0]
        names = (key, key.removesuffix("_title"))
        made = any(f"{quote}{family}_" in sources for quote in ("'", '"'))
        return any(re.search(rf"\b{name}\b", sources) for name in names) or made

    assert [key for key in ENGLISH["web"] if not is_used(key)] == []


@pytest.mark.parametrize("kind", ROUND_KINDS)
def test_a_form_calls_nothing_from_outside_and_uses_no_key_twice(kind: RoundKindName) -> None:
    form, texts = pages.config(kind, ENGLISH_TEXTS), ENGLISH_TEXTS
    assert not re.search(r"https?:|//|@import|url\(", form)
    assert not re.search(r"https?:|src=|href=", pages.instruction(kind, texts))
    keys = [e.attrib["hotkey"] for e in ET.fromstring(form).iter() if "hotkey" in e.attrib]
    assert len(keys) == len(set(keys))
    fields = set(re.findall(r"\"\$(\w+)\"", form))
    assert fields <= KEYS[kind]  # a task has all that its form shows


ANY = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="{}\ufffe\uffff")
ODD = ['a "b" <c> & d', "costs $5 or $target", "$", "]]>", "'", "\\"]
AWKWARD = st.text(ANY, min_size=1).filter(str.strip) | st.sampled_from(ODD)


@given(text=AWKWARD)
def test_any_text_arrives_in_a_form_as_it_is(text: str) -> None:
    said = pages.texts("en", None)
    said["review"]["keep"] = text
    choice = next(ET.fromstring(pages.config("review", said)).iter("Choice"))
    assert choice.attrib["value"].replace("$\u2060", "$") == text
    assert not re.search(r"\$\w", choice.attrib["value"]), "Label Studio would fill it in"


@given(text=AWKWARD)
def test_any_text_arrives_in_the_instructions_as_it_is(text: str) -> None:
    said = pages.texts("en", None)
    said["review"]["intro"] = [text]
    words = unescape(re.sub("<[^>]*>", "", pages.instruction("review", said)))
    assert text.replace("*", "") in words.replace("*", "")


def test_stars_make_bold_and_italics() -> None:
    said = pages.texts("en", None)
    said["review"]["intro"] = ["**a** *b* <i>"]
    assert "<p><b>a</b> <i>b</i> &lt;i&gt;</p>" in pages.instruction("review", said)


def test_a_script_from_right_to_left_turns_form_and_instructions(tmp_path: Path) -> None:
    said = pages.texts("en", pages.read_own("en", own(tmp_path, '[page]\ndirection = "rtl"')))
    assert "direction: rtl" in pages.config("validation", said)
    assert pages.instruction("validation", said).startswith('<div dir="rtl">')


# --- a task's data --------------------------------------------------------------------------

KEYS = {
    "review": {"task_id", "consent_version", "term", "domain", "info", "choices"},
    "intrasentence": {"task_id", "consent_version", "target", "domain"},
    "intersentence": {"task_id", "consent_version", "target", "domain"},
    "validation": {
        *("task_id", "consent_version", "target", "domain", "context"),
        *("id_1", "id_2", "id_3", "text_1", "text_2", "text_3"),
    },
}
KEYS["neutral"] = KEYS["validation"]


def hidden(name: str) -> st.SearchStrategy[str]:
    """An id that must not leave the campaign, and is not part of another text by chance."""
    return st.integers(0, 10**6).map(lambda n: f"⟦{name} {n}⟧")


SHOWN = st.builds(Shown, id=st.uuids().map(str), text=st.text(min_size=1), association=hidden("a"))
TASKS = st.builds(
    Task,
    id=st.uuids().map(str),
    term=hidden("term"),
    domain=st.text(min_size=1, max_size=200),
    target=st.text(min_size=1),
    item=hidden("item"),
    context=st.text() | st.none(),
    shown=st.tuples(SHOWN, SHOWN, SHOWN),
    choices=st.tuples(hidden("choice")),
    wanted=st.integers(1, 9),
    full=st.booleans(),
    barred=hidden("writer"),
)


@given(task=TASKS, kind=st.sampled_from(ROUND_KINDS))
def test_what_leaves_us_never_says_who_wrote_it_or_what_was_meant(task: Task, kind: Any) -> None:
    data = pages.task_data(task, kind, texts=ENGLISH_TEXTS)
    assert set(data) == KEYS[kind]
    assert "⟦" not in json.dumps(data, ensure_ascii=False)
    assert data["task_id"] == task.id
    assert data["consent_version"] == pages.consent_version(ENGLISH_TEXTS)
    if kind == "validation":
        assert [data[f"id_{n}"] for n in (1, 2, 3)] == [shown.id for shown in task.shown]
        assert [data[f"text_{n}"] for n in (1, 2, 3)] == [shown.text for shown in task.shown]


def test_a_review_offers_terms_and_another() -> None:
    task = Task(id="t", term="x", domain="jobs", target="pastry baker", wanted=3)
    about: dict[str, Any] = {"info": "bakes", "choices": [("t-1", "baker"), ("t-2", "$5")]}
    data = pages.task_data(task, "review", texts=ENGLISH_TEXTS, **about)
    assert data["info"] == "bakes"
    assert data["choices"] == [
        {"value": "baker", "alias": "t-1"},
        {"value": "$5", "alias": "t-2"},
        {"value": ENGLISH["review"]["into_other"], "alias": "other"},
    ]


# --- the texts of tables --------------------------------------------------------------------


def test_table_texts_are_in_the_campaigns_language_and_can_be_changed(tmp_path: Path) -> None:
    path = own(tmp_path, toml(marked()) + '\n[heading]\nannotator = "Jina"\n')
    for language, label in (("id", "Label teks 1"), ("sw", "Label 1")):
        said = pages.texts(language, pages.read_own(language, path))
        assert said["heading"]["annotator"] == "Jina"
        assert said["heading"]["label_1"] == label
    with fails("heading.anotator: no such text"):
        pages.texts(
            "id",
            pages.read_own("id", own(tmp_path, toml(marked()) + '\n[heading]\nanotator = "x"\n')),
        )


# --- training sets

TRAINED = sorted(path.stem for path in shipped("data", "training").glob("*.csv"))
HEAD = ",".join(pages.COLUMNS)
LINE = ",baker,The baker is BLANK.,The baker is early.,stereotype,Many believe it."
NOWHERE = Path("nowhere.csv")


def training(folder: Path, *lines: str, head: str = HEAD) -> Path:
    path = folder / "training.csv"
    path.write_text("\n".join([head, *lines]), "utf-8")
    return path


def test_training_in_english_and_indonesian_is_shipped() -> None:
    assert TRAINED == ["en", "id"]
    assert pages.read_training(NOWHERE, "ja", "validation") == ()
    assert pages.read_training(NOWHERE, "en-GB", "review") == pages.read_training(
        NOWHERE, "en", "review"
    )


@pytest.mark.parametrize("language", TRAINED)
def test_a_shipped_set_has_every_answer_and_a_reason_each(language: str) -> None:
    sentences = pages.read_training(NOWHERE, language, "validation")
    assert 8 <= len(sentences) <= 10
    assert len({each.target for each in sentences}) == 3
    assert {each.label for each in sentences} == set(GOLDS)
    assert len({each.text for each in sentences}) == len(sentences)
    assert all(len(each.why) > 20 for each in sentences)
    assert any("BLANK" in each.context for each in sentences)
    for kind in (*CAT_KINDS, "neutral"):
        written = pages.read_training(NOWHERE, language, kind)
        assert len(written) >= 4
        assert {each.label for each in written} == {"good", "bad"}
        assert all(len(each.why) > 20 for each in written)
        if kind in CAT_KINDS:
            gaps = {"BLANK" in each.context for each in written}
            assert gaps == {kind == "intrasentence"}
    terms = pages.read_training(NOWHERE, language, "review")
    assert len(terms) == 4
    assert {each.label for each in terms} == set(ACTIONS)
    assert not {each.text for each in terms} & {each.target for each in sentences}


def test_a_campaigns_own_set_replaces_the_shipped_one(tmp_path: Path) -> None:
    path = training(
        tmp_path,
        LINE,
        ",baker,He came in.,  He   sang. , Antistereotip ,Few believe it.",
        "validation,baker,He came in.,Rain fell.,meaningless,Of something else.",
        "review,,,baker,simpan,Known.",
        "intersentence,baker,He came in.,He sang. | He wept. | Rain fell.,Good,So it should be.",
    )
    expected = pages.TrainingExample(
        *("", "baker", "He came in.", "He sang.", "anti-stereotype", "Few believe it.")
    )
    every = {kind: pages.read_training(path, "en", kind) for kind in ROUND_KINDS}
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
def test_a_wrong_line_of_a_training_set_is_named_with_a_fix(
    tmp_path: Path, line: str, says: str, fixes: str
) -> None:
    with fails("training.csv", says, fix=fixes):
        pages.read_training(training(tmp_path, line), "en", "review")


def test_a_missing_column_of_a_training_set_is_named(tmp_path: Path) -> None:
    with fails("training.csv: no column label, why; it has kind, target", fix="use the columns"):
        pages.read_training(training(tmp_path, head="kind,target,context,text"), "en", "review")


# --- the skeleton of a new language

EVERY = {**table_words.read_shipped("text", "en"), **table_words.read_shipped("tables", "en")}


def test_a_skeleton_has_every_text_with_the_english_beside_it(tmp_path: Path) -> None:
    text = skeleton("sw")
    texts = tomllib.loads(text)
    del texts["prompts"]
    assert {s: list(keys) for s, keys in texts.items()} == {s: list(k) for s, k in EVERY.items()}
    for section, keys in EVERY.items():
        for line in (each for v in keys.values() for each in ([v] if isinstance(v, str) else v)):
            assert line in text, section
    assert 'institution = ""  # who carries out the study' in text
    assert "# What people write for the gap of a sentence" in text


def test_an_unfinished_skeleton_names_the_texts_that_are_missing(tmp_path: Path) -> None:
    kept = ("page", "study")
    every = [f"{s}.{k}" for s, keys in EVERY.items() if s not in kept for k in keys]
    needed = [name for name in every if not name.partition(".")[0].endswith("_words")]
    needed = [name for name in needed if name not in ("consent.version", "writing.blank")]
    text = skeleton("sw")
    said = f"text.toml, {', '.join(needed[:20])} and {len(needed) - 20} more: they are empty"
    with fails(said, fix="write each text"):
        pages.texts("sw", pages.read_own("sw", own(tmp_path, text)))
    filled = text.replace('""', '"Neno"').replace("= []", '= ["neno"]')
    filled = filled.replace('term = "Neno" # Term\n', 'term = ""\n', 1)
    filled = filled.replace('unknown = "Neno" # Hardly anybody here knows it', "", 1)
    with fails("text.toml, review.term: it is empty"):
        pages.texts("sw", pages.read_own("sw", own(tmp_path, filled)))
    with fails("text.toml: no review.unknown", fix="curation rounds texts sw --to FILE"):
        pages.texts(
            "sw", pages.read_own("sw", own(tmp_path, filled.replace('term = ""', 'term = "Neno"')))
        )


def test_a_skeleton_that_is_filled_in_is_used(tmp_path: Path) -> None:
    text = skeleton("sw").replace('""', '"Neno"').replace("= []", '= ["neno"]')
    texts = pages.texts("sw", pages.read_own("sw", own(tmp_path, text)))
    assert texts["review"]["term"] == texts["heading"]["term"] == "Neno"
    assert len(texts["review"]["rules"]) == len(EVERY["review"]["rules"])
    assert not pages.unread("sw", texts)


@pytest.mark.parametrize("language", table_words.languages())
def test_a_variety_of_a_shipped_language_is_filled_in(language: str, tmp_path: Path) -> None:
    path = own(tmp_path, skeleton(f"{language}-XX"))
    assert pages.texts(f"{language}-XX", pages.read_own(f"{language}-XX", path)) == pages.texts(
        language, None
    )
    assert ("[prompts]" in path.read_text("utf-8")) == (language != "en")


def test_a_near_language_is_filled_in_on_request(tmp_path: Path) -> None:
    path = own(tmp_path, skeleton("ms", like="id"))
    assert pages.texts("ms", pages.read_own("ms", path))["writing"]["blank"] == "RUMPANG"


def test_the_prompts_of_a_skeleton_are_those_of_a_file_of_prompts(tmp_path: Path) -> None:
    text = skeleton("sw")
    path = own(tmp_path, text)
    with fails("text.toml line", "again: is missing", fix="again ="):
        read_prompts(path)
    again = text.replace('again = ""', 'again = "A or B?"')
    with fails("text.toml line", "intrasentence: prompt «natural»: text is missing"):
        read_prompts(own(tmp_path, again))
    english = shipped("data", "prompts", "en.toml")
    body = english.read_text("utf-8").replace("[[", "[[prompts.")
    whole = own(tmp_path, f'[study]\ncontact = "a"\n\n[prompts]\n{body}')
    prompts, expected = read_prompts(whole), read_prompts(english)
    assert (prompts.by_kind, prompts.answers) == (expected.by_kind, expected.answers)
    assert pages.texts("en", pages.read_own("en", whole))["study"]["contact"] == "a"
    wrong = body.replace("[[prompts.intersentence]]", "[[prompts.intersentense]]", 1)
    with fails("text.toml, intersentense: there is no such key"):
        read_prompts(own(tmp_path, f"[prompts]\n{wrong}"))
    with fails("prompts: it is not a section", fix="[prompts]"):
        read_prompts(own(tmp_path, 'prompts = "A or B?"'))
