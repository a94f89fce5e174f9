"""The trust report of StereoSet's labelled development set, by the command line.

It has the authors' published predictions, and two tiny models that learnt from Wikipedia. These
are scored with and without normalisation by length, on every tenth intersentence CAT, to be quick.
"""

import gzip
import json
from collections import Counter
from typing import Any, NamedTuple

import pytest

from curation.models import tiny
from curation.records import Criterion
from curation.steps.trust.report import read_report
from support.cats import REAL
from support.commands import run
from support.judged import found

FILE = REAL / "dev_labelled.json.gz"
TEXT = REAL.parent / "divdist" / "wikitext2" / "valid.txt"
PREDICTIONS = {
    "gpt2@arxiv": "gpt2_ModelNSP_GPT2LM",
    "bert@arxiv": "bert-base-cased_BertNextSentence_BertLM",
    "xlnet@arxiv": "xlnet-base-cased_ModelNSP_XLNetLM",
    "roberta@arxiv": "roberta-base_ModelNSP_RoBERTaLM",
    "sentiment": "SentimentModel",
}
MODELS = ("first", "second")
RULES = ("conditional", "conditional-chars")
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.outside,  # models are trained and scored: about 40 s
    pytest.mark.skipif(not FILE.exists(), reason=f"StereoSet's labels are not at {FILE}"),
    pytest.mark.skipif(not TEXT.exists(), reason=f"WikiText-2 is not at {TEXT}"),
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
    gold, some = folder / "dev.json", folder / "some.json"
    content: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    gold.write_text(json.dumps(content), "utf-8")
    few = {"intrasentence": [], "intersentence": content["data"]["intersentence"][::10]}
    some.write_text(json.dumps({**content, "data": few}), "utf-8")
    names = []
    for seed, name in enumerate(MODELS, 1):
        tiny.make(folder / name, sentences(), vocabulary=900, seed=seed)
        names.append(f"{name}={folder / name}")
    scores = folder / "scores"
    for rule in RULES:
        done = run("scores", "models", *names, "--gold", some, "--scores", scores, "--rule", rule)
        assert done.code == 0, done.err
    given = [
        word
        for name, file in PREDICTIONS.items()
        for word in ("--predictions", f"{name}={REAL / 'predictions' / f'predictions_{file}.json'}")
    ]
    words = ("trust", "report", "--gold", gold, "--scores", scores, "--out", folder / "out")
    done = run(*words, *given)
    assert done.code == 0, done.err
    report = read_report(folder / "out" / "report.json")
    return Made(report.rows, (folder / "out" / "report.md").read_text("utf-8"), done.out)


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
        assert row.ci is not None
        assert row.ci[0] > 5
        plain, by_length = (found(made.rows, "face", f"meaningful:{model}", n) for n in RULES)
        assert (plain.status, by_length.status) == ("fail", "pass")
        # A model whose lms is not above chance decides nothing by its ss.
        ss = found(made.rows, "sensitivity", f"normalisation:{model}:{';'.join(RULES)}")
        assert ss.status == "inconclusive"
        # Both know less than a rule that understands nothing.
        for name in RULES:
            above = found(made.rows, "content", f"above-artefacts:{model}:intersentence", name)
            assert above.status == "fail"


def test_alpha_is_low_between_stereotype_and_anti_stereotype(made: Made) -> None:
    for kind, alpha in (("intersentence", 0.48), ("intrasentence", 0.50)):
        row = found(made.rows, "agreement", f"stereotype-or-anti:{kind}")
        assert (row.status, round(row.value or 0, 2)) == ("fail", alpha)


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
