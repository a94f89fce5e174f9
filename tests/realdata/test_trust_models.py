"""The trust report of StereoSet's labelled development set, by the command line.

It has the authors' published predictions, and two tiny models that learnt from Wikipedia. These
are scored with and without normalisation by length, on every tenth intersentence CAT, to be quick.
"""

import json
from collections import Counter
from typing import Any, NamedTuple

import pytest

from curation.models import tiny
from curation.records import Criterion
from curation.trust.steps import read_report
from support.commands import well
from support.judged import found
from support.realdata import LABELLED, SHARED, labelled, needs, predictions

TEXT = SHARED / "divdist" / "wikitext2" / "valid.txt"
MODELS = ("first", "second")
RULES = ("conditional", "conditional-chars")
pytestmark = [
    pytest.mark.outside,  # models are trained and scored: about 40 s
    *needs(LABELLED, TEXT),
]


class Made(NamedTuple):
    """The rows of the report, the page, and what the command printed."""

    rows: tuple[Criterion, ...]
    page: str
    out: str


def sentences() -> list[str]:
    lines = TEXT.read_text("utf-8").splitlines()
    parts = (part.strip() for line in lines for part in line.split(" . "))
    return [f"{part} ." for part in parts if 20 < len(part) < 200][:2000]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("models")
    gold, some, scores, out = (folder / name for name in ("dev.json", "some.json", "scores", "out"))
    content: dict[str, Any] = json.loads(labelled(folder).read_bytes())
    few = {"intrasentence": [], "intersentence": content["data"]["intersentence"][::10]}
    some.write_text(json.dumps({**content, "data": few}), "utf-8")
    for seed, name in enumerate(MODELS, 1):
        tiny.make(folder / name, sentences(), vocabulary=900, seed=seed)
    names = [f"{name}={folder / name}" for name in MODELS]
    for rule in RULES:
        well("scores", "models", *names, "--gold", some, "--scores", scores, "--rule", rule)
    given = [word for each in predictions() for word in ("--predictions", each)]
    told = well("trust", "report", "--gold", gold, "--scores", scores, "--out", out, *given).out
    page = (out / "report.md").read_text("utf-8")
    return Made(read_report(out / "report.json").rows, page, told)


def test_every_set_of_rules_is_a_subject_of_its_own(made: Made) -> None:
    names = {row.name for row in made.rows if row.subject == "scores"}
    assert names == {"all", "arxiv", "sentiment/predictions", *RULES}


def test_the_report_finds_the_length_artefact(made: Made) -> None:
    for kind in ("intrasentence", "intersentence"):
        assert found(made.rows, "content", f"artefact:LongestLM:{kind}").status == "fail"
        assert f"artefact:LongestLM:{kind}" in made.page


def test_models_depend_on_normalisation(made: Made) -> None:
    """By the sum of log-probabilities short associations win, and these are the unrelated ones."""
    for model in MODELS:
        row = found(made.rows, "sensitivity", f"normalisation-lms:{model}:{';'.join(RULES)}")
        assert (row.status, row.name) == ("fail", RULES[0])
        assert row.ci[0] > 5  # type: ignore[index]
        plain, by_length = (found(made.rows, "face", f"meaningful:{model}", n) for n in RULES)
        assert (plain.status, by_length.status) == ("fail", "pass")
        # A model whose lms is not above chance decides nothing by its ss.
        ss = found(made.rows, "sensitivity", f"normalisation:{model}:{';'.join(RULES)}")
        assert ss.status == "inconclusive"
        # Both know less than a rule that understands nothing.
        for name in RULES:
            above = found(made.rows, "content", f"above-artefacts:{model}:intersentence", name)
            assert above.status == "fail"


def test_the_faults_are_printed_and_rows_that_pass_are_not(made: Made) -> None:
    for words in ("LongestLM", "stereotype-or-anti", "normalisation-lms"):
        assert words in made.out
    assert "FirstLM" not in made.out
    assert "Not tested, because something is missing" in made.out
    assert len(made.out.splitlines()) < 150


def test_every_row_says_what_it_needs_or_what_would_change_it(made: Made) -> None:
    assert not [row.check for row in made.rows if not (row.computed and row.change)]
    keys = Counter((r.subject, r.name, r.criterion, r.check) for r in made.rows)
    assert set(keys.values()) == {1}
    assert not [row.change for row in made.rows if "about 0 " in row.change]
