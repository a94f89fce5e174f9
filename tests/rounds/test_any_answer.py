"""Whatever an answer holds, the fold goes on: the answer counts, or is refused with a reason."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from curation.files import dump_line
from curation.kinds import RoundKindName
from curation.records import Label, Shown, Task
from curation.rounds import items as item_stage
from curation.rounds.answers import interpret as reading
from curation.rounds.answers.archive import Sent, deliver
from curation.rounds.answers.interpret import interpret, named
from curation.rounds.answers.parsed import ParsedAnswer
from curation.rounds.answers.people import pseudonyms
from curation.rounds.fold import Folded, fold
from curation.rounds.gate import Rules, lines
from support import answers
from support.answers import Row, Source
from support.expected import fails

LABELS = TypeAdapter(list[Label])
RULES = Rules(("profession",), {("profession", "baker"): "term-1"}, label_seconds=1)
ITEM = {name: cell for name, cell in answers.ITEM.items() if name != "kind"}
MARK = answers.LABEL
REVIEW = {"task_id": "t-r", "annotator": "v", "decision": "keep"}
KINDS: dict[str, RoundKindName] = {"forms": "validation", "label_studio": "review"}
TASKS = {
    "t-v": Task(
        id="t-v", term="term-1", domain="profession", target="baker", item="i1", wanted=1,
        context="The baker is BLANK.",
        shown=tuple(Shown(id=f"a{n}", text="x", association=f"a{n}") for n in range(3)),
    ),
    "t-r": Task(id="t-r", term="term-1", domain="profession", target="baker", wanted=1),
}  # fmt: skip


def folded(events: list[tuple[Source, Row]]) -> Folded:
    """Archive, parse and fold answers; what comes out can be written and read."""

    def parsed() -> Iterator[tuple[str, ParsedAnswer]]:
        for n, (source, payload) in enumerate(events):
            kept = orjson.loads(orjson.dumps(payload))
            sent = Sent(id=f"e{n}", source=source, position=n, payload=kept)
            if source != "stereoset" or isinstance(payload["item"], dict):
                named(sent)
            how: Row = {"round": source, "where": f"{n}", "tasks": TASKS, "kind": KINDS.get(source)}
            yield from ((source, answer) for answer in interpret(sent, **how))

    result = fold(parsed(), RULES, pseudonyms(b"key"))
    few = [*result.items, *result.reviews, *result.flags, *result.people]
    for record in (*few, *(r for some in result.rejections.values() for r in some)):
        dump_line(record)
    written = b"".join(lines(result.labels))
    LABELS.validate_json(b"[" + b",".join(written.splitlines()) + b"]")
    for given_answers in result.answers.values():
        b"".join(lines(given_answers))
    return result


def codes(result: Folded) -> list[str]:
    return [r.code for some in result.rejections.values() for r in some]


@pytest.mark.parametrize("field", ["submitted_at", "updated_at"])
@pytest.mark.parametrize(
    ("time", "kept"),
    [
        ("2026-03-14T102205.00000000Z", True),
        ("9999-12-31T23:59:59.000000Z", True),
        ("0001-01-01T00:00:00+23:59", False),
    ],
)
def test_a_time_is_read_or_its_answer_is_refused(field: str, time: str, kept: bool) -> None:
    """The forms of times are in ``tests/text/test_times.py``."""
    result = folded([("answers", {**ITEM, field: time}), ("answers", {**MARK, field: time})])
    assert (len(result.items), len(result.labels)) == (kept, kept)
    assert codes(result) == ([] if kept else ["bad_value", "bad_value"])


@pytest.mark.parametrize("field", ["item_id", "domain", "target", "context", "stereotype"])
def test_a_field_that_is_too_long_is_refused(field: str) -> None:
    result = folded([("answers", {**ITEM, field: "x" * 100_000 + " BLANK"})])
    assert codes(result) == ["bad_value"]


def test_an_archived_answer_that_is_nested_deeply_is_refused() -> None:
    row = {**ITEM, "domain": nested(500)["item"]["target"]}
    sent = Sent(id="e0", source="answers", position=0, payload=row)
    parsed = [("r", answer) for answer in interpret(sent, round="r", where="line 1")]
    (rejection,) = fold(parsed, RULES).rejections["r"]
    assert dump_line(rejection)
    assert (rejection.code, rejection.where) == ("bad_value", "line 1")


UNFORESEEN = [
    ValueError, KeyError, TypeError, OverflowError, RecursionError, AttributeError,
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "odd"),
]  # fmt: skip


@pytest.mark.parametrize("error", UNFORESEEN, ids=str)
@pytest.mark.parametrize(
    ("module", "name", "source", "payload"),
    [
        (reading.rows, "problems", "answers", ITEM),
        (reading.forms, "read", "forms", {**REVIEW}),
        (reading, "need_id", "stereoset", {"kind": "intrasentence", "item": {"id": "p"}}),
        (item_stage, "check_item", "answers", ITEM),
        (item_stage, "_known", "answers", ITEM),
        (item_stage, "LabelRow", "answers", MARK),
    ],
)
def test_an_unforeseen_failure_refuses_its_answer_alone(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    source: Source,
    payload: Row,
    error: Any,
) -> None:
    whole, calls = getattr(module, name), []

    def fails_for_the_last(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if payload is MARK or "odd" in str(given):
            raise error
        return whole(*given, **more)

    monkeypatch.setattr(module, name, fails_for_the_last)
    odd = payload
    if payload is not MARK:
        text = orjson.dumps(payload).replace(b"i1", b"i2")
        for old in (b'"algebraic"', b'"p"', b'"keep"'):
            text = text.replace(old, b'"odd"')
        odd = orjson.loads(text)
    result = folded([("answers", ITEM), (source, odd)])
    assert calls
    assert len(result.items) == 1
    assert codes(result) == ["bad_value"]
    (rejection,) = next(iter(result.rejections.values()))
    assert rejection.where == "1"
    assert "the answer cannot be read" in rejection.detail


def nested(depth: int) -> Row:
    deep: Any = "x"
    for _ in range(depth):
        deep = [deep]
    return {"kind": "intrasentence", "item": {"id": "p", "target": deep}}


def test_an_answer_nested_too_deeply_is_not_kept_and_others_are_refused(tmp_path: Path) -> None:
    deliver(tmp_path, "stereoset", [nested(240)])
    result = folded([("stereoset", nested(240))])
    assert codes(result) == ["missing_field"]
    assert result.rejections["stereoset"][0].record == nested(240)["item"]
    with fails("answer 2 of this delivery: an answer cannot be kept"):
        deliver(tmp_path, "stereoset", [nested(1), nested(300)])
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("item", ["x", None, [], 3])
def test_an_item_that_is_not_an_object_is_refused(item: object) -> None:
    assert codes(folded([("stereoset", {"kind": "intrasentence", "item": item})])) == ["bad_value"]


ODD = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(), st.text(max_size=6),
        st.sampled_from([
            "t-v", "t-r", "i1", "early", "stereotype", "unrelated", "BLANK", "profession", "baker",
            "2026-03-14 10:22:05.000000Z", "0001-01-01T00:00:00+23:59", "3/4/2026", "1e400", "keep",
            "nan", "x" * 300, "٣", "-1", "a\x1fb", "\x00", "merge", "objective",
        ]),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip


def changed(base: Mapping[str, Any], *more: str) -> st.SearchStrategy[Row]:
    """A sound payload in which some fields are replaced or left out."""
    names = st.sampled_from([*base, *more])
    changes = st.dictionaries(names, ODD, max_size=4)
    missing = st.sets(names, max_size=2)
    return st.tuples(changes, missing).map(
        lambda pair: {k: v for k, v in {**base, **pair[0]}.items() if k not in pair[1]}
    )


TIMES = ("submitted_at", "updated_at", "seconds", "answer_id", "kind", "date_order", "", "flags")
RADIO = "Answer.label_1.unrelated"
ENTRY = {"from_name": "label_1", "value": {"choices": ["stereotype"]}}
ANNOTATION = {
    "id": 1, "completed_by": 7, "updated_by": 7, "was_cancelled": False, "lead_time": 3.5,
    "created_at": "2026-03-02T09:00:00.123456Z", "updated_at": "2026-03-02T09:00:00.123456Z",
    "result": [ENTRY],
}  # fmt: skip
SENTENCES = [
    {
        "id": f"s{n}", "sentence": f"The baker is {w}.",
        "labels": [{"label": "unrelated", "human_id": "h"}],
    }
    for n, w in enumerate(("early", "late", "octal"))
]  # fmt: skip
PUBLISHED = {
    "id": "p1", "target": "baker", "bias_type": "profession", "context": "The baker is BLANK.",
    "sentences": SENTENCES,
}  # fmt: skip
EVENTS = st.one_of(
    st.tuples(st.just("answers"), changed(ITEM, *TIMES)),
    st.tuples(st.just("answers"), changed(MARK, "label_1", "association_1", *TIMES)),
    st.tuples(st.just("forms"), changed(REVIEW, "merge_into", "rename", "consent", *TIMES)),
    st.tuples(
        st.just("forms"),
        changed({"task_id": "t-v", "annotator": "v", "label_1": "x"}, RADIO, *TIMES),
    ),
    st.tuples(
        st.just("label_studio"),
        st.tuples(
            changed({"task": "t-r", "person": "v", "annotation": None}, "deleted", "was"),
            changed(ANNOTATION)
            | st.builds(lambda entry: {**ANNOTATION, "result": [entry]}, changed(ENTRY)),
        ).map(lambda pair: {**pair[0], "annotation": pair[1]}),
    ),
    st.tuples(
        st.just("label_studio"), changed({"task": "t-r", "deleted": 1, "was": "", "seen_at": ""})
    ),
    st.tuples(
        st.just("stereoset"),
        st.builds(
            lambda item: {"kind": "intrasentence", "item": item},
            changed(PUBLISHED) | st.builds(
                lambda s: {**PUBLISHED, "sentences": [s, *SENTENCES[1:]]}, changed(SENTENCES[0])
            ),
        ),
    ),
)  # fmt: skip


@settings(max_examples=150)
@example([("answers", {**ITEM, "submitted_at": "2026-03-14 10:22:05.000000Z"})])
@given(st.lists(EVENTS, min_size=1, max_size=4))
def test_no_answer_stops_the_fold(events: list[tuple[Source, Row]]) -> None:
    folded([("answers", ITEM), *events])
