"""Names that people write in several ways: on import, in ``--term``, and domains without terms."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import create_campaign
from curation.settings import CampaignSettings, DomainSettings, Settings, new_id
from support.desk import STUDY, Desk, at, read_csv, word, write_csv

HEADS = ("item_id", "annotator", "domain", "target", "context", "stereotype", "anti_stereotype",
         "unrelated", "submitted_at")  # fmt: skip


@pytest.fixture
def desk(forked: Any, tmp_path: Path) -> Desk:
    """A campaign of two domains with a pilot each, and one without terms."""
    settings = Settings(
        campaign=CampaignSettings(id=new_id()),
        domains={
            "profession": DomainSettings(words=("jobs.txt",)),
            "hobby": DomainSettings(words=("hobbies.txt",)),
            "town": DomainSettings(),
        },
    )
    made = create_campaign(tmp_path / "c", settings)
    made.terms.mkdir()
    made.rounds.mkdir()
    for name, words in (("jobs", "baker\npilot\n"), ("hobbies", "pilot\nsinger\n")):
        (made.terms / f"{name}.txt").write_text(f"# language: en\n{words}", "utf-8")
    (made.rounds / "text.toml").write_text(STUDY, "utf-8")
    return Desk(forked, made.root)


def rows(*answers: tuple[str, str]) -> list[dict[str, Any]]:
    """Rows of a writers' table: (annotator, target)."""
    table = []
    for n, (who, target) in enumerate(answers):
        texts = [word(who, target, n, part) for part in range(4)]
        context = f"In {texts[3]} the {target} is BLANK."
        cells = (f"{who}{n}", who, "profession", target, context, *texts[:3], at(n))
        table.append(dict(zip(HEADS, cells, strict=True)))
    return table


def bring(desk: Desk, *answers: tuple[str, str], more: tuple[str, ...] = ()) -> Any:
    return desk.run("import", "answers", write_csv(desk.out / "w.csv", rows(*answers)), *more)


def test_an_import_lists_new_terms_and_names_that_differ_only_in_case(desk: Desk) -> None:
    done = bring(desk, ("ann1", "Baker"), ("Ann1", "baker"), ("ann 1", "sailor"), ("b@x", "nun"))
    assert done.code == 0, done.err
    assert "targets that differ only in case or spaces: 'baker' and 'Baker'." in done.err
    assert "annotators whose ids differ only in case or spaces: 'ann1' and 'Ann1' and 'ann 1'." in (
        done.err
    )
    assert "3 new terms: Baker, nun, sailor. To merge" in done.out
    # Once is enough; a new id that looks like an old one is said.
    done = bring(desk, ("ann1", "Baker"), ("B@X", "nun"))
    assert "differ only" not in done.err
    assert "new term" not in done.out
    done = bring(desk, ("ANN1", "cobbler"), more=("--json",))
    assert "'ANN1'" in done.err
    assert json.loads(done.out)["new_terms"] == ["cobbler"]
    assert "1 new term: thatcher." in bring(desk, ("c", "thatcher")).out


def test_of_many_new_terms_ten_are_named(desk: Desk) -> None:
    done = bring(desk, *(("a", f"job{n:02}") for n in range(12)))
    assert "12 new terms: job00, " in done.out
    assert "job09 and 2 more." in done.out


def test_annotators_of_a_rounds_table_that_differ_only_in_case_are_said(desk: Desk) -> None:
    desk.open("review", "r", "--term", "baker")
    (task,) = desk.export("r")
    table = [
        {"task_id": task["task_id"], "annotator": who, "decision": "keep",
         "consent": task["consent"]} for who in ("w1", "W1")
    ]  # fmt: skip
    done = desk.run("rounds", "import", "r", write_csv(desk.out / "r.csv", table))
    assert "ids differ only in case or spaces: 'w1' and 'W1'." in done.err


def test_people_of_an_export_that_differ_only_in_case_are_said(desk: Desk) -> None:
    desk.open("review", "r", "--term", "baker")
    people = desk.out / "people.txt"
    people.write_text("w1\nW1\nw2\n", "utf-8")
    done = desk.run("rounds", "export", "r", "--people", people, "--to", desk.out)
    assert (done.code, done.err.count("ids differ only in case or spaces: 'w1' and 'W1'.")) == (
        0,
        1,
    )
    assert "use one id for both in" in done.err


def test_a_domain_without_terms_is_warned_of(desk: Desk) -> None:
    says = "domain town has no term, so nobody is asked to write about it"
    for words in (
        ("terms", "select"),
        ("status",),
        ("rounds", "open", "review", "--platform", "files"),
    ):
        done = desk.run(*words)
        assert (done.code, done.err.count(says)) == (0, 1), done.err


@pytest.mark.parametrize("name", ["baker", "Baker", "bread baker", "baxter"])
def test_a_round_takes_any_name_of_a_term(desk: Desk, name: str) -> None:
    edits = desk.root / "1-terms" / "edits.csv"
    edits.write_text(
        "domain,term,action,into\nprofession,baker,rename,bread baker\n"
        "profession,baxter,merge,baker\n",
        "utf-8",
    )
    if name == "baxter":
        assert bring(desk, ("a", "baxter")).code == 0
    opened = desk.open("intrasentence", "w", "--term", name)
    assert opened["tasks"] == 5
    assert {row["target"] for row in desk.export("w")} == {"bread baker"}


def test_an_ambiguous_or_unknown_name_is_refused_with_the_terms_that_it_may_mean(
    desk: Desk,
) -> None:
    says = desk.refused("rounds", "open", "intrasentence", "--platform", "files", "--term", "pilot")
    assert "'pilot' is a name of several terms: pilot (hobby, term-" in says
    assert "pilot (profession, term-" in says
    words = ("--term", "pilot", "--domain", "hobby")
    assert desk.open("intrasentence", "w", *words)["tasks"] == 5
    says = desk.refused("rounds", "open", "intrasentence", "--platform", "files", "--term", "nun")
    assert "no kept term 'nun'" in says


def test_one_is_not_plural(desk: Desk) -> None:
    done = bring(desk, ("a", "baker"))
    assert "1 row added to round main; 0 already there. The round has 1 item and 0 labels" in (
        done.out
    )
    assert "1 item has no label yet." in done.out
    opened = desk.run("rounds", "open", "validation", "--platform", "files")
    assert (
        "1 task, 5 answers asked for" in opened.out or "1 task, 4 answers asked for" in opened.out
    )
    assert read_csv(desk.root / "1-terms" / "edits.csv") == []
