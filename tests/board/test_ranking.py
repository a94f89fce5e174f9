"""The rankings of a board: who has a rank, ties, what changed, who waits and who was refused."""

from pathlib import Path

import pytest

from curation.board.building import standings
from curation.board.log import Closed, Opened, Waits, chained, head, read_log
from curation.records import Fields
from support.rows import BASELINES, OPENED, SETTINGS, facts, made, rechecked, refused, scored


def ranks(content: Fields, ranking: int = 0) -> dict[str, int | None]:
    return {row["model"]: row["rank"] for row in content["sets"][0]["rankings"][ranking]["rows"]}


def test_rows_that_cannot_be_told_apart_share_a_rank() -> None:
    # 90 ± 5 and 82 ± 5 overlap; only 90 ± 5 is wholly above 75 ± 5, and all of these above 60 ± 5
    content = made(scored("c", 75), scored("d", 60), scored("a", 90), scored("b", 82))
    assert list(ranks(content).items()) == [("a", 1), ("b", 1), ("c", 2), ("d", 4)]


def test_intervals_that_touch_are_a_tie() -> None:
    assert ranks(made(scored("a", 90), scored("b", 80))) == {"a": 1, "b": 1}
    assert ranks(made(scored("a", 90), scored("b", 79.9))) == {"a": 1, "b": 2}


def test_a_row_without_an_interval_is_not_above_others_nor_below() -> None:
    content = made(scored("a", 90, wide=0), scored("b", 80), scored("c", 60))
    assert ranks(content) == {"a": 1, "b": 1, "c": 2}


def test_only_rows_whose_last_recheck_agreed_are_ranked() -> None:
    good, bad, late = scored("good", 70), scored("bad", 95), scored("late", 60)
    content = made(
        *(scored("own", 99), good, bad, late),
        *(rechecked(good), rechecked(bad, agrees=False), rechecked(late, agrees=False)),
        rechecked(late, 3),
        **{"hide": "labels", "rows": 5},
    )
    assert list(ranks(content).items()) == [("good", 1), ("late", 1), ("bad", None), ("own", None)]
    rows = content["sets"][0]["rankings"][0]["rows"]
    states = [row["state"] for row in rows]
    assert states == ["rechecked", "rechecked", "differs", "self-reported"]
    found = {"agrees": False, "cats": 59, "orders": 31, "beyond": 40, "largest": 0.4123}
    revision = rows[2]["revision"]
    assert rows[2]["recheck"] == {"date": "2026-12-02", "revision": revision, **found}
    assert rows[3]["recheck"] is None
    assert content["sets"][0]["rows"] == {"used": 4, "allowed": 5, "ranked": 2}


def test_all_rows_of_a_sealed_test_set_are_ranked() -> None:
    content = made(scored("a", 90, sealed=True))
    (row,) = content["sets"][0]["rankings"][0]["rows"]
    assert (row["rank"], row["state"]) == (1, "run-by-owner")
    assert row["values"]["domains"]["hobby"]["icat"] == 89
    assert content["sets"][0]["rows"] == {"used": 1, "allowed": None, "ranked": 1}


def test_profiles_are_never_mixed() -> None:
    content = made(scored("a", 60), scored("a", 90, profile="other"), scored("b", 90))
    rankings = content["sets"][0]["rankings"]
    assert [ranking["profile"] for ranking in rankings] == ["default", "other"]
    assert [ranks(content, n) for n in (0, 1)] == [{"b": 1, "a": 2}, {"a": 1}]


def test_the_change_is_since_the_day_before_the_last_one_with_news() -> None:
    first = scored("a", 60, 1), scored("b", 75, 1)
    wait = Waits(date="2026-12-30", version="0.1.0", file="w.json", submission="b" * 64)
    rows = made(*first, wait)["sets"][0]["rankings"][0]["rows"]
    assert [(row["change"], row["new"]) for row in rows] == [(None, True), (None, True)]
    rows = made(*first, scored("c", 90, 2), wait)["sets"][0]["rankings"][0]["rows"]
    change = {row["model"]: (row["rank"], row["change"], row["new"]) for row in rows}
    assert change == {"c": (1, None, True), "b": (2, -1, False), "a": (3, -1, False)}


def test_a_row_that_moves_up_or_gets_its_rank_by_a_recheck() -> None:
    top, low = scored("top", 90), scored("low", 60)
    labels = {"hide": "labels", "rows": 5}
    rows = made(
        *(top, low, rechecked(top), rechecked(low), rechecked(top, 3, agrees=False)), **labels
    )["sets"][0]["rankings"][0]["rows"]
    assert [(row["model"], row["change"]) for row in rows] == [("low", 1), ("top", None)]
    rows = made(top, low, rechecked(low), rechecked(top, 3), **labels)["sets"][0]["rankings"][0][
        "rows"
    ]
    found = [(row["model"], row["change"], row["new"]) for row in rows]
    assert found == [("top", None, True), ("low", -1, False)]


def test_the_queue_keeps_its_order_and_ends_with_a_score_or_a_refusal() -> None:
    def waits(day: int, name: str) -> Waits:
        same = {"file": f"{name}.json", "submission": name * 64}
        return Waits(date=f"2026-12-{day:02}", version="0.1.0", **same)

    row = scored("a", 90, file="a.json", submission="a" * 64)
    queue = (waits(n, name) for n, name in enumerate("dacb", 1))
    test = made(*queue, row, refused("c.json", "changed"))["sets"][0]
    assert [(w["place"], w["file"], w["date"]) for w in test["waiting"]] == [
        (1, "d.json", "2026-12-01"),
        (2, "b.json", "2026-12-04"),
    ]
    assert test["refused"]["reasons"] == {"changed": 1}
    assert [each["file"] for each in test["refused"]["rows"]] == ["c.json"]


def test_a_closed_test_set_keeps_its_ranking_and_its_age() -> None:
    other = scored("a", 60, 20, version="0.2.0")
    entries = [
        *(OPENED, scored("a", 90)),
        Closed(date="2026-12-06", version="0.1.0", revealed="c" * 64),
        *(Opened(date="2026-12-10", version="0.2.0", facts="d" * 64), other),
    ]
    both = {"0.1.0": facts(), "0.2.0": facts(version="0.2.0")}
    content = standings(entries, SETTINGS, both)
    found = [(each["version"], each["open"], each["days"]) for each in content["sets"]]
    assert found == [("0.2.0", True, 10), ("0.1.0", False, 10)]
    assert content["sets"][1]["rankings"][0]["rows"][0]["values"]["overall"]["icat"] == 90
    assert content["sets"][1]["revealed"] == "c" * 64
    assert (content["opened"], content["last"], content["lines"]) == ("2026-11-26", other.date, 5)


def test_the_head_is_that_of_the_log(tmp_path: Path) -> None:
    lines = chained([], [OPENED, scored("a", 90)])
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    entries, _ = read_log(tmp_path / "log.jsonl")
    assert standings(entries, SETTINGS, {"0.1.0": facts()})["head"] == head(lines)


@pytest.mark.parametrize(("set_rows", "board_rows", "allowed"), [(5, None, 5), (5, 2, 2)])
def test_the_owner_may_allow_fewer_rows(
    set_rows: int, board_rows: int | None, allowed: int
) -> None:
    settings = SETTINGS.model_copy(update={"rows": board_rows})
    known = facts(hide="labels", rows=set_rows)
    assert standings([OPENED], settings, {"0.1.0": known})["sets"][0]["rows"]["allowed"] == allowed


def test_baselines_are_as_the_release_shows_them_and_the_ideal_is_apart() -> None:
    content = made()
    assert content["ideal"] == {"lms": 100, "ss": 50, "icat": 100}
    names = [each["model"] for each in content["sets"][0]["baselines"]]
    assert names == [each.model for each in BASELINES if each.model != "IdealLM"]
    assert content["sets"][0]["rankings"] == [{"profile": "default", "ranked": 0, "rows": []}]
