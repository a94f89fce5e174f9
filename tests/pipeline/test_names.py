"""Names that people write in several ways: on import, in ``--term``, and domains without terms."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.commands import set_to
from support.desk import Desk, item_row, read_csv, write_csv


@pytest.fixture
def desk(forked: Any, tmp_path: Path) -> Desk:
    """A campaign of two domains with a pilot each, and one without terms."""
    made = Desk.make(forked, tmp_path / "c", ("baker", "pilot"), items=5)
    hobbies = '[domains.hobby]\nwords = ["hobbies.txt"]\n[domains.town]\n\n[rounds]'
    set_to(made.root, "[rounds]", hobbies)
    path = made.root / "1-terms" / "hobbies.txt"
    path.write_text("# language: en\npilot\nsinger\n", "utf-8")
    return made


def rows(*answers: tuple[str, str]) -> list[dict[str, Any]]:
    """Rows of a writers' table: (annotator, target)."""
    table = []
    for n, (who, target) in enumerate(answers):
        row = item_row({"task_id": f"{who}{n}", "target": target, "consent": ""}, who, n)
        row |= {"item_id": row.pop("task_id"), "domain": "profession", "target": target}
        table.append(row | {"context": row.pop("template")})
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


def test_people_of_a_round_that_differ_only_in_case_are_said(desk: Desk) -> None:
    desk.open("review", "r", "--term", "baker")
    says = "ids differ only in case or spaces: 'w1' and 'W1'."
    other = desk.copy(desk.root.parent / "other")
    done = other.does("rounds", "export", "r", "--people", other.listed("w1", "W1", "w2"))
    assert done.err.count(says) == 1
    assert "use one id for both in" in done.err
    (task,) = desk.export("r")
    row = {"task_id": task["task_id"], "decision": "keep", "consent": task["consent"]}
    table = write_csv(desk.out / "r.csv", [{**row, "annotator": who} for who in ("w1", "W1")])
    assert says in desk.run("rounds", "import", "r", table).err


def test_a_domain_without_terms_is_warned_of(desk: Desk) -> None:
    says = "domain town has no term, so nobody is asked to write about it"
    for command in ("terms select", "status", "rounds open review --platform files"):
        done = desk.run(*command.split())
        assert (done.code, done.err.count(says)) == (0, 1), done.err


@pytest.mark.parametrize("name", ["baker", "Baker", "bread baker", "baxter"])
def test_a_round_takes_any_name_of_a_term(desk: Desk, name: str) -> None:
    edits = desk.root / "1-terms" / "edits.csv"
    rows = "profession,baker,rename,bread baker\nprofession,baxter,merge,baker\n"
    edits.write_text(f"domain,term,action,into\n{rows}", "utf-8")
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
    assert re.search("1 task, [45] answers asked for", opened.out)
    assert read_csv(desk.root / "1-terms" / "edits.csv") == []
