"""A release's card and data statement: readable, traced to the facts, safe from foreign text."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from curation.formats.markdown import inline
from curation.kinds import CAT_KINDS
from curation.release.metadata import responsible
from curation.release.texts import questions
from curation.release.texts.card import card, header, statement
from curation.released import facts as told
from curation.released.contents import SPLITS, DataFile
from curation.released.facts import Facts, RoundFacts, Statement
from support.releases import facts, pitfall, score
from support.traced import untraced
from support.written import beside

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NASTY = [
    *("---", "<script>alert(1)</script>", "| a |", "# x", "![](http://x.invalid/y.png)", "{{x}}"),
    *("- one", "a: b # c", "'\"`", "</details>", "&lt;b&gt;", "one\n\n---\n\ntwo", "```\ncode"),
    *("*a* _b_ [c](d)", "@x !y %z", "no", "1.0"),
]
DATA = [
    DataFile(path, "0" * 64, 10, 3)
    for path in (
        *(f"{kind}/{split}-00000-of-00001.parquet"
          for kind in CAT_KINDS for split in ("test", "validation")),
        *(f"cats/{split}-00000-of-00001.parquet" for split in SPLITS),
        *(f"{name}/full-00000-of-00001.parquet" for name in ("annotations", "terms")),
        *(f"cats/{kind}-{split}.jsonl" for kind in CAT_KINDS for split in SPLITS),
        *("annotations.csv", "terms.jsonl", "dev.json", "test.json", "STATEMENT.md", "LICENSE"),
        *("lm-eval/README.md", "croissant.json", "datapackage.json", "CITATION.cff"),
        *("release.json", "errata.jsonl"),
    )
]  # fmt: skip


FULL = beside(__file__, "full.toml")


def filled(value: Any, text: str) -> Any:
    """A value with a text in all places where «TEXT» stands."""
    if isinstance(value, dict):
        return {filled(name, text): filled(inner, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, text) for inner in value]
    return value.replace("TEXT", text) if isinstance(value, str) else value


def full(text: str = "plain") -> Facts:
    """Facts in which every field is filled, each text with the given one."""
    made = filled(FULL, text)
    made["statement"]["answers"] = {q.key: text for q in questions.QUESTIONS if not q.field}
    made["rounds"] *= 2
    made["scores"] *= 2
    made["baselines"][0]["rows"] = made["scores"][:1]
    unknown = dict.fromkeys(("count", "of", "stereoset", "why"))
    made["pitfalls"] = [{**unknown, **row} for row in made["pitfalls"]]
    return Facts.model_validate({**facts().model_dump(), **made})


def front_matter(made: Facts, files: Sequence[DataFile] = DATA) -> dict[str, Any]:
    before, yaml_text, _ = card(made, files).decode().split("---\n", 2)
    assert before == ""
    loaded: dict[str, Any] = yaml.safe_load(yaml_text)
    return loaded


def texts(made: Facts) -> tuple[str, str]:
    """The card without its front matter, and the statement."""
    text, head = card(made, DATA).decode(), header(made, DATA)
    assert text.startswith(head)
    return text.removeprefix(head), statement(made).decode()


def card_of(**changes: Any) -> str:
    """The card of the facts with these changes."""
    return texts(facts(**changes))[0]


# --- the front matter -----------------------------------------------------------------------


def test_the_front_matter_is_that_of_the_hub() -> None:
    fields = front_matter(facts())
    assert fields["license"] == "cc-by-sa-4.0"
    assert fields["language"] == ["en"]
    assert fields["size_categories"] == ["n<1K"]
    assert fields["pretty_name"] == "Mild: <Set> #1"
    configs = {config["config_name"]: config["data_files"] for config in fields["configs"]}
    assert list(configs) == ["intersentence", "intrasentence", "cats", "annotations", "terms"]
    assert configs["intersentence"] == [
        {"split": "validation", "path": "intersentence/validation-00000-of-00001.parquet"},
        {"split": "test", "path": "intersentence/test-00000-of-00001.parquet"},
    ]
    assert configs["cats"][1] == {"split": "test", "path": "cats/test-00000-of-00001.parquet"}
    assert [file["split"] for file in configs["terms"]] == ["full"]
    assert {f["path"] for files in configs.values() for f in files} <= {f.path for f in DATA}
    assert [c["config_name"] for c in fields["configs"] if c.get("default")] == ["cats"]
    assert not [key for key in fields if key.startswith("extra_gated")]


def test_only_parquet_files_with_rows_are_in_a_configuration() -> None:
    paths = ("cats/dev-00000-of-00001.parquet", "cats/intrasentence-dev.jsonl")
    few = [DataFile(path, "abc", 1, 2) for path in paths]
    few.append(DataFile("terms/full-00000-of-00001.parquet", "", 1, 0))
    (config,) = front_matter(facts(), few)["configs"]
    files = [{"split": "dev", "path": "cats/dev-00000-of-00001.parquet"}]
    about = {"config_name": "cats", "description": "dev sha256 abc", "default": True}
    assert config == {**about, "data_files": files}


def test_each_configuration_names_the_content_of_all_its_files() -> None:
    # What ``datasets`` keeps of a folder depends on its name and the configurations alone.
    def configurations(files: list[DataFile]) -> dict[str, Any]:
        rows = front_matter(facts(), files)["configs"]
        return {config["config_name"]: config for config in rows}

    files = [file._replace(sha256=f"{n:064x}") for n, file in enumerate(DATA)]
    before = configurations(files)
    for n, file in enumerate(files):
        if file.path.endswith(".parquet"):
            after = configurations([*files[:n], file._replace(sha256="f" * 64), *files[n + 1 :]])
            changed = [name for name in before if before[name] != after[name]]
            assert changed == [file.path.split("/")[0]]


def test_hidden_cats_are_in_a_configuration_of_their_own() -> None:
    paths = ("cats/dev", "hidden/test", "terms/full")
    files = [DataFile(f"{path}-00000-of-00001.parquet", "", 1, 2) for path in paths]
    configs = front_matter(facts(), files)["configs"]
    assert [config["config_name"] for config in configs] == ["cats", "hidden", "terms"]


def test_another_licence_and_a_gate_are_in_the_front_matter() -> None:
    fields = front_matter(full("Own: licence"))
    assert (fields["license"], fields["license_name"]) == ("other", "own-licence")
    assert fields["license_link"] == "LICENSE"
    assert (fields["language"], fields["language_bcp47"]) == (["pt"], ["pt-BR"])
    assert fields["size_categories"] == ["1K<n<10K"]
    assert fields["extra_gated_prompt"] == "Own: licence"
    assert fields["extra_gated_fields"] == {"Own: licence": "checkbox"}


@pytest.mark.parametrize("text", NASTY)
def test_no_name_breaks_the_front_matter(text: str) -> None:
    fields = yaml.safe_load(header(full(text), DATA).split("\n", 1)[1].rsplit("---\n", 1)[0])
    assert fields["pretty_name"] == text
    assert fields["extra_gated_prompt"] == text
    assert fields["extra_gated_fields"] == {text: "checkbox"}


# --- the text -------------------------------------------------------------------------------


@cache
def plain_tokens() -> list[list[str]]:
    return [[token.type for token in PARSER.parse(text)] for text in texts(full("plain"))]


@pytest.mark.parametrize("text", NASTY)
def test_foreign_text_changes_nothing_but_text(text: str) -> None:
    for before, hostile in zip(plain_tokens(), texts(full(text)), strict=True):
        tokens = PARSER.parse(hostile)
        if "\n\n" not in text:
            assert [t.type for t in tokens] == before
        for block, token in pairwise(tokens):
            if token.type == "html_block":
                assert token.content.strip() in (
                    "</details>",
                    "<details>\n<summary>All values of the baselines</summary>",
                    f"<details>\n<summary>Rounds {inline(f'{text}, {text}')}</summary>",
                )  # fmt: skip
            if token.type == "inline":
                kinds = {child.type for child in token.children or ()}
                assert not kinds & {"html_inline", "image"}, (block.type, token.content)
                links = [c.attrGet("href") for c in token.children or () if c.type == "link_open"]
                assert not [h for h in links if str(h).startswith(("d", "http://x"))]


@pytest.mark.parametrize("made", [facts(), full()], ids=["small", "full"])
def test_tables_have_equal_columns(made: Facts) -> None:
    for text in texts(made):
        rows: list[int] = []
        for line in text.split("\n"):
            if line.startswith("|"):
                rows.append(len(line.replace(r"\|", "").strip("|").split("|")))
            else:
                assert len(set(rows)) <= 1, line
                rows = []
        assert "| |" not in text


@pytest.mark.parametrize(
    "made",
    [facts(), full(), full("7,531 people, 86.42 %"), facts(statement=Statement(), rounds=())],
    ids=["small", "full", "numbers in texts", "nothing recorded"],
)
def test_every_number_is_traced_to_the_facts(made: Facts) -> None:
    for text in texts(made):
        assert untraced(text, made) == []


def test_a_number_without_a_source_is_seen() -> None:
    line = "and 77 more, 1,077 in all"
    seen = [f"line 3: {number} in {line!r}" for number in ("77", "1,077")]
    assert untraced(f"There are 8 CATs.\n\n{line}", facts()) == seen


def test_every_number_of_the_facts_is_shown() -> None:
    shown = "\n".join(texts(full()))
    for number in (
        *("61.2", "51.2", "58.1", "0.65", "0.54 to 0.70", "85.4 %", "37.9 %", "1.2 to 70.0"),
        *("38 of 1,047", "3.6 %", "1.2 %", "1,234", "0.355 plain", "28,282", "3,030", "37.5 %"),
        *("5,151 labels were not counted", "52 items did not become CATs", "seed 39", "0.91"),
        *("0.471", "4,747", "4,848", "42 CATs were added", "1 CAT was removed"),
        *("44 CATs have other gold", "22", "27 original targets are", "23", "1,024 CATs"),
    ):
        assert number in shown, number


@pytest.mark.parametrize("made", [facts(), full(), facts(scores=(), agreement=())])
def test_every_card_names_all_limits_and_every_statement_has_them_in_full(made: Facts) -> None:
    readme, full_text = texts(made)
    limits = responsible(made)["dataLimitations"][:5]
    for limit in limits:
        title, text = limit.split(". ", 1)
        assert f"\n- **{title}.**\n" in readme
        assert full_text.count(f"**{title}.** {text} ([Nadeem, Bethke and Reddy 202") == 1
    assert (readme.count("\n- **"), full_text.count("([Nadeem, Bethke and Reddy 202")) == (5, 5)


def test_the_warning_comes_first_and_the_canary_is_there() -> None:
    text, _ = texts(facts())
    assert text.index("> **Content warning") < 60
    assert "not-for-all-audiences" in header(facts(), DATA)
    assert f"`canary GUID {facts().canary}`" in text
    assert "cat cats/*.jsonl | sha256sum" in text
    assert f"`{facts().canonical}`" in text


def opened(key: str) -> str:
    """How an open question is shown."""
    return f"**Open question for the team: {inline(questions.BY_KEY[key].text)}**"


def test_open_questions_stand_out_until_they_are_answered() -> None:
    empty = facts(statement=Statement(), open=questions.open_keys(Statement()))
    readme, made = texts(empty)
    assert "**The team has not answered 25 of 25 questions about this dataset.**" in readme
    for question in questions.QUESTIONS:
        assert (readme + made).count(opened(question.key)) == 1
    for key in ("description", "uses", "limits", "contact", "takedown", "authors"):
        assert opened(key) in readme
        assert f"**{inline(questions.BY_KEY[key].text)}**\n\nSee [README.md](README.md)." in made
    for text in texts(full()):
        assert "Open question" not in text
        assert "not answered" not in text


def test_answers_keep_their_paragraphs() -> None:
    given = Statement(answers={"purpose": "First.\nStill first.\n\nSecond:\n- a\n- b"})
    made = statement(facts(statement=given)).decode()
    assert "First. Still first.\n\nSecond:\\\n\\- a\\\n\\- b\n" in made


def test_what_is_not_recorded_is_said_in_a_line() -> None:
    bare = facts(
        agreement=(), retention=(), sentiment=(), pitfalls=(), baselines=(), scores=(), rounds=(),
        people={}, tiers={}, versions={}, canonical="", annotations=0, without_votes=0,
        sentiment_why="the language has no classifier", translated=0,
    )  # fmt: skip
    readme, made = texts(bare)
    for line in (
        "No agreement between annotators is recorded.",
        "The CATs were not checked for known pitfalls.",
        "No baselines were computed.",
        "No model was scored for this release.",
        "No round of annotation is recorded.",
    ):
        assert line in readme
    for line in (
        "No sentiment was measured (the language has no classifier).",
        "This is the first version.",
        "No text that people read is recorded.",
    ):
        assert line in made
    assert "## The hidden test set" not in readme
    assert "None" not in readme + made


def flawed(unit: str, count: int, of: int) -> dict[str, Any]:
    return {"pitfalls": (pitfall("a", count=count, of=of, stereoset=0.0001, unit=unit),)}


def agreed(cats: int) -> dict[str, Any]:
    row = facts().agreement[0].model_copy(update={"cats": cats, "classes": "all"})
    return {"agreement": (row,), "without_votes": 1}


FLAGGED = score(rules="a_b", flags=("it refused",))
LENGTHS = told.Lengths(kind="intersentence", words=None, characters=23.4)
SOME_OUT = "Some labelled items are left out there"


@pytest.mark.parametrize(
    ("changes", "says", "times"),
    [
        ({}, "**1 of 8 CATs has no votes.**", 1),
        ({"without_votes": 8}, "**All 8 CATs have no votes.**", 1),
        ({"without_votes": 8}, "The gold label of an association is", 0),
        (flawed("target", 2, 79), "| `a` | s | 2 of 79 terms | 2.5 % | < 0.1 % |", 1),
        (flawed("option", 1, 6300), "| s | 1 of 6,300 associations | < 0.1 % | < 0.1 % |", 1),
        (flawed("cat", 1, 1), "| `a` | s | 1 of 1 CAT | 100.0 % | < 0.1 % |", 1),
        (flawed("dataset", 1, 1), "| `a` | s | yes | – | yes |", 1),
        ({"lengths": (LENGTHS,)}, "| intersentence | – | 23.4 |", 1),  # without words
        ({"scores": (score(rules="ll-bos_conditional"),)}, "| ll-bos, conditional |", 1),
        ({"scores": (FLAGGED, FLAGGED)}, "- m (a, b): it refused", 1),
        (agreed(cats=6), SOME_OUT, 1),
        (agreed(cats=7), SOME_OUT, 0),
    ],
)
def test_what_the_texts_say_of_their_facts(changes: dict[str, Any], says: str, times: int) -> None:
    assert "".join(texts(facts(**changes))).count(says) == times


def test_the_card_says_what_the_dataset_is_for_and_its_weaknesses() -> None:
    given = Statement(answers={"uses": "Only for tests.", "limits": "Few\n\nterms."})
    readme = card_of(statement=given, open=())
    assert "## Limits and uses\n\nUse it to measure" in readme
    assert "about people.\n\nOnly for tests.\n" in readme
    assert "Weaknesses of this dataset:\n\nFew\n\nterms.\n" in readme


def test_what_is_left_out_because_of_hidden_labels_is_not_called_missing() -> None:
    hidden = told.Hidden(split="test", cats=4, terms=2)
    readme, made = texts(facts(hidden=hidden, agreement=(), sentiment=(), scores=()))
    for text in (readme, made):
        assert "too much about the hidden gold labels" in text
        assert "No agreement between annotators is recorded" not in text
        assert "No sentiment was measured" not in text
    assert "hidden gold labels are not counted here" in made
    assert "No model was scored" not in readme
    assert '"hidden", split="test")' in readme
    assert "a hidden gold label is -1." in readme
    assert "hidden" not in "".join(texts(facts()))


def test_imported_labels_are_not_said_to_be_by_writers() -> None:
    imported = RoundFacts(name="published", kind="import", people=7, answers=50, refused=0)
    _, made = texts(facts(rounds=(imported,), people={"validation": 7}))
    assert "The texts were imported, and it is not recorded who wrote them." in made
    assert made.count("| published | import |") == 1
    assert "If imported items had been chosen by agreement before" in made
    both = {"validation": 7, "intrasentence": 3}
    _, made = texts(facts(rounds=(imported,), people=both))
    assert made.count("all those who wrote or labelled in it") == 1
    assert "it is not recorded who wrote them" not in made
    assert "If imported items" not in "".join(texts(facts(rounds=())))


def test_what_was_left_out_is_said_with_its_reason() -> None:
    imported = RoundFacts(name="published", kind="import", people=7, answers=50, refused=0)
    known = facts(rounds=(imported,), not_counted={}, not_kept={})
    _, made = texts(known)
    assert "No answer was refused, all labels count, and all items are CATs." in made
    for text in (made, str(responsible(known)["dataCollection"])):
        assert "An answer is a review of a term, an item, or all labels of a person" in text
    less = known.model_copy(
        update={"not_counted": {"repeated_annotator": 309}, "not_kept": {"too_few_labels": 17}}
    )
    _, made = texts(less)
    assert "No answer was refused" not in made
    for text in (made, str(responsible(less)["dataPreprocessingProtocol"])):
        assert "309 labels were not counted: the same annotator had already labelled" in text
        assert "17 items did not become CATs: labels are missing" in text


@pytest.mark.parametrize(
    ("rounds", "people", "types"),
    [
        ((True,), {"validation": 7}, ["Secondary Data Analysis"]),
        ((False,), {"intersentence": 7}, ["Manual Human Curator"]),
        ((False, True), {"validation": 7}, ["Manual Human Curator", "Secondary Data Analysis"]),
        ((True,), {"intersentence": 7}, ["Manual Human Curator", "Secondary Data Analysis"]),
        ((), {}, ["Manual Human Curator"]),
    ],
)
def test_how_data_were_collected_is_that_of_the_rounds(
    rounds: tuple[bool, ...], people: dict[str, int], types: list[str]
) -> None:
    made = tuple(
        RoundFacts(name="a", kind="import", people=7, answers=50, refused=0, published=published)
        for published in rounds
    )
    own = facts(rounds=made, people=people, translated=0, without_votes=0)
    assert responsible(own)["dataCollectionType"] == types


def test_the_statement_says_who_could_take_part() -> None:
    said = ("they live in Indonesia", "at least 96 % of their work was accepted before")
    asked = RoundFacts(name="a", kind="validation", people=7, answers=50, refused=0, required=said)
    anybody = RoundFacts(name="b", kind="review", people=7, answers=50, refused=0)
    _, made = texts(facts(rounds=(asked, anybody)))
    assert "- a (validation): they live in Indonesia; at least 96 % of their work was" in made
    assert "- b (review): no requirement is recorded." in made
    assert "over 97 % of their work was accepted before ([ACL §9.1]" in made
    imported = RoundFacts(name="c", kind="import", people=7, answers=50, refused=0)
    for rounds in ((), (imported,)):
        assert "StereoSet, to compare" not in texts(facts(rounds=rounds))[1]


def test_undecided_items_are_counted() -> None:
    row = told.Retention(domain="all", kind="all", items=5, kept=4, share=80.0, open=17)
    readme, made = texts(facts(retention=(row,)))
    assert "17 items have too few labels and were left out." in made
    assert "Of 5 decided items, 4 became CATs (80.0 %)." in readme
    one = row.model_copy(update={"open": 1})
    _, made = texts(facts(retention=(one,)))
    assert "1 item has too few labels and was left out." in made


def test_a_release_without_labels_or_with_one_kind_tells_nobody_to_load_them() -> None:
    (size,) = [s for s in facts().sizes if (s.kind, s.split) == ("intrasentence", "test")][:1]
    own = facts(sizes=(size,), annotations=0, without_votes=size.cats)
    text, _ = texts(own)
    assert '"annotations"' not in text
    assert "The part `intrasentence` has the fields" in text
    assert "`intersentence`" not in text
    assert "--gold test.json" in text
    values = responsible(own)
    assert str(values["annotationsPerItem"]).startswith("Nobody labelled the CATs")
    assert "label with at least" not in str(values["dataAnnotationProtocol"])
