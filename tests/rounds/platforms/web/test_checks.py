"""Instruction checks: one in each span of tasks, never doubled or lost; two failed end it."""

from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from curation.rounds.platforms.web import checks
from curation.rounds.platforms.web.store import Store
from support.web import Site, Someone, plan, put, said
from support.web_tab import SENDS, Tab

SPAN, ROUND = 12, "validation-1"
RIGHT = dict.fromkeys(("label_1", "label_2", "label_3"), "unrelated")
SLIP = RIGHT | {"label_2": "stereotype"}
WRONG = SLIP | {"label_3": "anti-stereotype"}


@pytest.fixture
def site(site: Site) -> Site:
    put(site.store, plan("validation", instruction_checks=SPAN), 60, asked=1)
    return site


@pytest.fixture
def ann(site: Site) -> Someone:
    return site.person(ROUND).begin(ROUND)


def places(store: Store, person: str, spans: int) -> list[int]:
    """After how many tasks a person's first checks come, worked out without the module."""
    drawn = [int(store.digest("check", "7", ROUND, person, str(n)), 16) for n in range(spans)]
    return [n * SPAN + 4 + number % 7 for n, number in enumerate(drawn)]  # 4 to 10 of 12


def to_check(one: Someone, path: str = "") -> tuple[int, str]:
    """Answer tasks until a check comes; how many there were, and the path of the check."""
    path, n = path or one.next(ROUND), 0
    while "/t/check-" not in path:
        assert one.answer(path).status_code == 200
        path, n = one.next(ROUND), n + 1
    return n, path


def failed(site: Site, one: Someone) -> bool:
    return checks.has_failed(site.store, one.id, ROUND)


def archived(site: Site) -> list[tuple[int, bool]]:
    lines = (line.payload for line in site.store.lines(ROUND, all=True))
    return [(line["check"], line["passed"]) for line in lines if "check" in line]


def test_there_is_one_check_in_each_span_at_a_drawn_place(site: Site, ann: Someone) -> None:
    came, path = [], ""
    for number in range(3):
        tasks, path = to_check(ann, path)
        assert path == f"/r/{ROUND}/t/check-{number}"
        came.append(tasks)
        ann.answer(path, **RIGHT)
        path = ann.next(ROUND)
    after = places(site.store, ann.id, 3)
    assert came == [after[0], after[1] - after[0], after[2] - after[1]]
    assert all(n * SPAN < place <= (n + 1) * SPAN for n, place in enumerate(after))
    assert archived(site) == [(0, True), (1, True), (2, True)]
    others = {tuple(places(site.store, f"w-{n}", 8)) for n in range(20)}
    assert len(others) == 20, "each person has places of their own"
    gaps = [b - a for each in others for a, b in pairwise(each)]
    assert min(gaps) >= SPAN // 2, "and never two checks close together"


def test_a_check_reads_like_a_task_and_says_in_each_line_what_to_choose(
    site: Site, ann: Someone
) -> None:
    assert said("check_told") in ann.get(f"/r/{ROUND}").text
    _, path = to_check(ann)
    page = ann.get(path).text
    assert page.count("For this line, please choose “Unrelated”.") == 3
    assert said("check_context") in page
    assert "/skip" not in page
    answered = f"Task {places(site.store, ann.id, 1)[0] + 1} of 60"
    assert answered in page, "the next task has the same number"


def test_a_check_is_no_task(site: Site, ann: Someone) -> None:
    tasks, path = to_check(ann)
    (one,) = site.store.people()
    before = site.store.standing(one, ROUND, at=0)
    loads = site.store.loads(ROUND)
    ann.answer(path, **RIGHT)
    assert site.store.standing(one, ROUND, at=0) == before
    assert before.answered == tasks
    assert site.store.loads(ROUND) == loads
    assert site.store.waiting(ROUND) == tasks


def test_a_page_that_is_opened_again_or_left_neither_doubles_nor_loses_a_check(
    site: Site, ann: Someone
) -> None:
    _, path = to_check(ann)
    assert ann.get(path).status_code == ann.get(path).status_code == 200
    assert ann.next(ROUND) == ann.next(ROUND) == path  # instead of the task that is held
    missing = ann.post(path, answer_id="a" * 32, label_1="unrelated")
    assert (missing.status_code, archived(site)) == (422, [])
    held = site.store.rows("SELECT task FROM leases WHERE person = ? AND until > 0", ann.id)
    after = ann.answer(path, **WRONG)
    assert after.url.endswith(f"/t/{held[0][0]}"), "the task that was held comes next"
    again = ann.answer(path, "b" * 32, **RIGHT)  # the button Back, and another choice
    assert again.url == after.url
    assert archived(site) == [(0, False)]
    gone = ann.get(path)
    assert (gone.status_code, said("over_title") in gone.text) == (410, True)


def test_a_check_that_is_not_due_is_not_taken(site: Site, ann: Someone) -> None:
    path = ann.next(ROUND)
    for number in ("0", "7", "99999999"):
        assert ann.get(f"/r/{ROUND}/t/check-{number}").status_code == 410
        refused = ann.answer(f"/r/{ROUND}/t/check-{number}", **RIGHT)
        assert refused.status_code == 403
    assert ann.next(ROUND) == path
    _, check = to_check(ann, path)
    skip = ann.post(f"{check}/skip", answer_id="c" * 32, reason="none")
    assert skip.status_code == 403
    assert ann.next(ROUND) == check
    assert archived(site) == []


def test_one_slip_is_no_failure_and_two_failures_end_the_tasks(site: Site, ann: Someone) -> None:
    for number, labels in enumerate((SLIP, WRONG, RIGHT, WRONG)):
        _, path = to_check(ann)
        assert path.endswith(f"check-{number}")
        assert not failed(site, ann)
        page = ann.answer(path, **labels)
    assert failed(site, ann)
    assert archived(site) == [(0, True), (1, False), (2, True), (3, False)]
    assert said("failed_title") in page.text
    assert 'Write to us: <a href="mailto:study@example.org"' in page.text
    assert "Your code" in page.text, "who worked is not left without a code"
    for path in (f"/r/{ROUND}", f"/r/{ROUND}/t/t-60"):
        assert ann.get(path).url.endswith("/done")
    assert ann.next(ROUND).endswith("/done")
    assert said("me_ended") in ann.get("/me").text
    live = "SELECT count(*) FROM leases WHERE person = ? AND until > 0"
    assert site.store.one(live, ann.id) == 0, "the task that was held goes to somebody else"
    other = site.person(ROUND).begin(ROUND)
    assert "/t/t-" in other.next(ROUND)


def test_an_answer_that_was_on_its_way_still_counts_after_the_end(site: Site, ann: Someone) -> None:
    to_check(ann)
    (person,) = site.store.people()
    made = site.store.plan(ROUND)
    assert made is not None
    held = site.store.one("SELECT task FROM leases WHERE person = ? AND until > 0", ann.id)
    for number in (0, 1):
        checks.answer(site.store, person.id, made, checks.task(made, number), WRONG, at=1.0)
    assert ann.answer(f"/r/{ROUND}/t/{held}").url.endswith("/done")
    assert site.store.loads(ROUND)[held].answered == 1


def test_without_the_setting_and_in_other_rounds_there_are_no_checks(tmp_path: Path) -> None:
    made = Site(tmp_path)
    with made.served(), closing(made.store) as store:
        for kind, changes in (("validation", {}), ("review", {"instruction_checks": SPAN})):
            put(store, plan(kind, **changes), 26, asked=1)
            one = made.person(f"{kind}-1").begin(f"{kind}-1")
            assert said("check_told") not in one.get(f"/r/{kind}-1").text
            path, tasks = one.next(f"{kind}-1"), 0
            while "/t/t-" in path:
                one.answer(path)
                path, tasks = one.next(f"{kind}-1"), tasks + 1
            assert (path, tasks) == (f"/r/{kind}-1/done", 26)


def test_a_check_is_not_part_of_a_sitting_and_goes_with_its_person(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "web.sqlite")) as store:
        put(store, plan("validation", instruction_checks=SPAN, pause_after=3), 20)
        ann = store.add_person(str.upper, [ROUND], at=0.0)
        made: Any = store.plan(ROUND)
        for n in range(2):
            id = store.give(ann, ROUND, at=n)
            assert not isinstance(id, str)
            how = {"id": f"{n:032}", "fields": {}, "seconds": 1.0, "at": float(n)}
            assert store.submit(ann, ROUND, id.task.id, **how) == "new"
        for n in range(2):
            checks.answer(store, ann.id, made, checks.task(made, n), WRONG, at=2.0)
        checks.answer(
            store, ann.id, made, checks.task(made, 0), RIGHT, at=2.0
        )  # the first answer counts
        assert store.resting(ann.id, ROUND, at=2.0) == 0
        assert checks.has_failed(store, ann.id, ROUND)
        store.erase(ann.pseudonym)
        assert store.lines(ROUND, all=True) == []
        assert store.rows("SELECT 1 FROM checks") == []


def test_a_crash_while_a_check_is_kept_leaves_it_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Store(tmp_path / "web.sqlite")) as store:
        put(store, plan("validation", instruction_checks=SPAN), 20)
        ann = store.add_person(str.upper, [ROUND], at=0.0)
        made: Any = store.plan(ROUND)
        for n in range(SPAN):
            given = store.give(ann, ROUND, at=n)
            assert not isinstance(given, str)
            store.skip(ann, ROUND, given.task.id, id=f"{n:032}", reason="none", at=float(n))
        check = checks.due(store, ann.id, made)
        assert check is not None
        with monkeypatch.context() as broken:
            broken.setattr(Store, "note", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                checks.answer(store, ann.id, made, check, WRONG, at=20.0)
    with closing(Store(tmp_path / "web.sqlite")) as store:
        assert checks.due(store, ann.id, made) == check
        checks.answer(store, ann.id, made, check, WRONG, at=21.0)
        assert checks.due(store, ann.id, made) is None
        kept = [line.payload for line in store.lines(ROUND, all=True) if "check" in line.payload]
        assert [(line["check"], line["passed"]) for line in kept] == [(0, False)]


def test_a_check_in_a_browser_is_for_everybody_and_sent_once_also_without_a_network(
    browser: Any, axe: str, site: Site
) -> None:
    ann = site.person(ROUND)
    tab = Tab(browser, site).begin(ann, ROUND)
    for _ in range(SPAN):
        if "/check-" in tab.path:
            break
        for n in (1, 2, 3):
            tab.page.check(f"[name=label_{n}][value=stereotype]")
        tab.send()
    assert "/check-" in tab.path
    tab.page.evaluate(axe)
    found = tab.page.evaluate("axe.run(document).then(result => result.violations.map(v => v.id))")
    assert found == []
    for n in (1, 2, 3):
        tab.page.check(f"[name=label_{n}][value=unrelated]")
    tab.context.set_offline(True)
    tab.page.click(SENDS)
    tab.page.wait_for_selector("#waiting:visible")
    assert archived(site) == []
    tab.context.set_offline(False)
    tab.page.wait_for_url("**/t/t-*")
    tab.emptied()
    assert archived(site) == [(0, True)]
    tab.close()
