"""Majorities of reviewers become lines of edits.csv."""

from pathlib import Path
from typing import Any

import pytest

from support.desk import Desk, Row, at, read_csv

# --- reviews ------------------------------------------------------------------------------------


def reviewed(desk: Desk, said: dict[str, list[Row]]) -> Any:
    """A round of review in which terms get these answers; what closing it prints."""
    desk.open("review", "r", *(word for term in said for word in ("--term", term)))
    rows = []
    for task in desk.export("r"):
        ids = {c.split(": ")[1]: c.split(": ")[0] for c in task["merge_choices"].split(" | ")}
        whole = {"task_id": task["task_id"], "consent": task["consent"], "seconds": 9}
        for n, row in enumerate(said[task["term"]]):
            into = row.get("merge_into", "")
            who = {"annotator": f"r-{n}", "submitted_at": at(n), "merge_into": ids.get(into, into)}
            rows.append({**whole, **row, **who})
    desk.bring("r", rows, "reviews.csv")
    done = desk.run("rounds", "close", "r")
    assert done.code == 0, done.err
    return done


KEEP, DROP = {"decision": "keep"}, {"decision": "drop", "reasons": "an insult"}


def merge(into: str) -> Row:
    return {"decision": "merge", "merge_into": into}


@pytest.mark.parametrize(
    "before",
    [
        "target;bias_type;Action;note\nfiddler;profession;drop;a remark, with a comma",
        "domain\tterm\taction\tnote\nprofession\tfiddler\tdrop\ta note\n",
        'domain,term,action,into,family,note\nprofession,fiddler,drop,,,"two\nlines"\r\n',
        "\ufeffdomain;term;action\nprofession;fiddler;drop\n",
        "sep=;\ndomain;term;action\nprofession;fiddler;drop\n",
        'domain,term,action,note\nprofession,fiddler,drop,"one\u2028line"\n',
        "\ndomain;term;action\nprofession;fiddler;drop\n",
    ],
    ids=["semicolons", "tabs", "quoted", "mark", "sep", "separator", "blank line"],
)
def test_reviews_join_the_word_that_stands(forked: Any, tmp_path: Path, before: str) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    path = desk.root / "1-terms" / "edits.csv"
    path.write_text(before, "utf-8")
    desk.say("terms", "select")
    path.write_text(before.replace("drop", ""), "utf-8")  # under review: nothing stands on it yet
    renamed = {**KEEP, "rename": "clay, potter"}
    said = {
        "baker": [DROP, DROP, KEEP],
        "potter": [renamed, renamed],
        "thatcher": [merge("potter"), merge("potter"), merge("baker")],
        "lamplighter": [KEEP, DROP],
    }
    assert "reviewers are divided on lamplighter" in reviewed(desk, said).err
    desk.say("terms", "select")  # it can still be read
    rows = read_csv(desk.root / "1-terms" / "candidates.csv")
    status = {row["term"]: (row["status"], row["into"]) for row in rows}
    assert status["baker"][0] == "dropped"
    assert status["thatcher"] == ("merged", "clay, potter")
    assert status["clay, potter"][0] == "kept"
    assert status["lamplighter"][0] == "kept"
    text = path.read_text("utf-8-sig")
    for part in ("a remark, with a comma", "one\u2028line", '"two\nlines"'):
        assert (part in text) == (part in before)


def test_peoples_own_word_stays_and_what_it_hides_is_said(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    path = desk.root / "1-terms" / "edits.csv"
    path.write_text(
        "domain,term,action,into,family,note\nprofession,baker,keep,,,we know it\n"
        "profession,lacemaker,add,,,\nprofession,potter,,,Potter,\n"
        "profession,fiddler,rename,violinist,,\n",
        "utf-8",
    )
    names = ("baker", "lacemaker", "potter", "violinist", "thatcher")
    done = reviewed(desk, dict.fromkeys(names, [DROP] * 3))
    words = [(edit["term"], edit["action"]) for edit in read_csv(path)]
    assert words[:4] == [("baker", "keep"), ("lacemaker", "add"), ("potter", ""),
                         ("fiddler", "rename")]  # fmt: skip
    assert ("thatcher", "drop") in words
    desk.say("terms", "select")
    assert ("baker", "drop") not in words  # what stands, stays
    # All reviewers would drop these; that their word does nothing must be told.
    for term in ("baker", "lacemaker"):
        assert term in done.err, done.err
    # Of the potter only the family stood there: the word on it is new.
    assert ("potter", "drop") in words


@pytest.mark.parametrize("what", ["each other", "one that is dropped"])
def test_reviews_that_do_not_go_together(forked: Any, tmp_path: Path, what: str) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    other = merge("baker") if what == "each other" else DROP
    elsewhere = {**merge("other"), "merge_into_other": "lamp"}
    said = {"baker": merge("potter"), "potter": other, "lamplighter": elsewhere}
    done = reviewed(desk, {term: [row] * 3 for term, row in said.items()})
    assert "lamplighter" in done.err  # the term into which it should merge is not a term yet
    selected = desk.run("terms", "select")  # what the command wrote must be readable
    assert selected.code == 0, selected.err
    rows = read_csv(desk.root / "1-terms" / "candidates.csv")
    status = {row["term"]: row["status"] for row in rows}
    if what == "each other":  # must not both be gone
        assert "kept" in (status["baker"], status["potter"]), status
    assert "baker" in done.err, done.err


def test_the_line_says_how_many_propose_it_and_single_proposals_are_shown(
    forked: Any, tmp_path: Path
) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    renamed = {**KEEP, "rename": "bread baker"}
    said = {
        "baker": [renamed, renamed, KEEP],
        "potter": [DROP, DROP],  # the third reviewer never came
        "thatcher": [DROP, KEEP, KEEP],
        # Without a majority nothing is said of a term.
        "fiddler": [KEEP, DROP, merge("potter")],
        "wheelwright": [merge("baker"), merge("thatcher"), KEEP],
    }
    done = reviewed(desk, said)
    assert "reviewers are divided on fiddler, wheelwright" in done.err
    notes = {e["term"]: e["note"] for e in read_csv(desk.root / "1-terms" / "edits.csv")}
    assert notes == {
        "baker": "r: proposed by 2 of 3 reviewers",
        "potter": "r: proposed by 2 of 2 reviewers",
    }
    assert "proposals of reviewers that are not applied:" in done.err
    assert "thatcher: drop (1 of 3 reviewers): insult" in done.err


@pytest.mark.parametrize("name", ["potter", "Potter ", "lacemaker"])
def test_a_review_may_name_the_term_to_merge_into_by_its_text(
    forked: Any, tmp_path: Path, name: str
) -> None:
    desk = Desk.make(forked, tmp_path / "c", ("baker", "potter", "lacemaker"))
    desk.open("review", "r", "--term", "baker")
    (task,) = desk.export("r")
    row = {"task_id": task["task_id"], "consent": task["consent"], **merge(name)}
    rows = [{**row, "annotator": f"r-{n}"} for n in range(3)]
    rows += [{**row, **merge("nobody"), "annotator": "r-4"}]
    assert desk.bring("r", rows)["refused"] == {"bad_value": 1}
    assert desk.run("rounds", "close", "r").code == 0
    (line,) = read_csv(desk.root / "1-terms" / "edits.csv")
    assert (line["action"], line["into"]) == ("merge", name.strip().lower())
