"""Folders of runs: named after their rules, old names and old rules, and what ``run.json`` says."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curation.models import tiny
from curation.models.loading import open_tokenizer
from curation.models.scoring import ModelSpec, open_scorer, tokens_of
from curation.models.tokens import count_tokens
from curation.records import Cat
from curation.scores import running
from curation.scores.running import Job, conclude, job, score_cats
from support.expected import fails
from support.models import MAKERS
from support.talkers import made_up
from support.written import beside

TABLES = beside(__file__)

INTRA, INTER = made_up(2), made_up(2, kind="intersentence")
CATS = [*INTRA, *INTER]
NEW, OLD = ((6, 0, 0), list[str]()), ((0, 6, 0), list[str]())
New = Callable[..., Job]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: MAKERS[name](tmp_path_factory.mktemp("models") / name))


@pytest.fixture
def new(model: Callable[[str], Path], tmp_path: Path) -> Iterator[New]:
    """A run of a model, by its name."""
    yield lambda name, **settings: job(
        ModelSpec(str(model(name)), plain=True), tmp_path, **settings
    )
    open_scorer.cache_clear()


def run_json(work: Job) -> Any:
    return json.loads((work.folder / "run.json").read_bytes())


def rewrite(work: Job, **fields: Any) -> None:
    """Change ``run.json``; None takes a field away."""
    about = {**run_json(work), **fields}
    kept = {key: value for key, value in about.items() if value is not None}
    (work.folder / "run.json").write_text(json.dumps(kept), "utf-8")


def scored(work: Job, cats: Sequence[Cat]) -> tuple[tuple[int, int, int], list[str]]:
    """How many associations are scored, were scored before, are refused; and the notices."""
    notices: list[str] = []
    counts = score_cats(work, cats, notice=notices.append)
    return (counts["scored"], counts["before"], counts["refused"]), notices


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "settings", "folder"), TABLES["a_run_is_named_after_its_rules"])
def test_a_run_is_named_after_its_rules(
    new: New, tmp_path: Path, name: str, settings: dict[str, str], folder: str
) -> None:
    assert new(name, **settings).folder == tmp_path / name / folder


def test_a_profile_and_a_rule_with_the_same_rules_are_one_run(new: New) -> None:
    assert scored(new("bert", profile="acl-pll"), CATS)[0] == (12, 0, 0)
    assert scored(new("bert", rule="pll-shared"), CATS) == ((0, 12, 0), [])


def test_a_damaged_folder_beside_a_run_does_not_concern_it(new: New) -> None:
    work = new("gpt2")
    for name, content in (("default", "[]"), ("other", "{")):
        work.folder.with_name(name).mkdir(parents=True)
        (work.folder.with_name(name) / "run.json").write_text(content, "utf-8")
    assert scored(work, INTRA) == NEW
    assert (work.folder.with_name("default") / "run.json").read_text("utf-8") == "[]"


# --- another run --------------------------------------------------------------------------------


def test_scores_of_another_run_are_set_aside_and_the_notice_says_what_differs(new: New) -> None:
    work = new("bert", rule="attribute-acl")
    scored(work, INTRA)
    rewrite(work, dtype="bfloat16", versions={"curation": "0.0.1"})
    before = (work.folder / "scores.jsonl").read_bytes()
    counts, [notice] = scored(work, INTRA)
    assert counts == (6, 0, 0)
    [aside] = work.folder.glob("superseded/*")
    assert (aside / "scores.jsonl").read_bytes() == before
    assert notice == (
        f"{work.folder / 'run.json'}: another dtype and versions; the earlier scores are now in "
        f"{aside}"
    )
    assert scored(work, INTRA) == OLD


def test_what_a_run_json_lacks_and_does_not_identify_the_run_is_added(new: New) -> None:
    work = new("bert", rule="attribute-arxiv")
    scored(work, INTRA)
    opened = run_json(work)["opened"]
    opened.pop("parameters")
    rewrite(work, opened=opened, tokens=None)
    assert scored(work, INTRA) == OLD
    assert run_json(work)["tokens"]["read"] > 0


# --- tokens and parameters ----------------------------------------------------------------------


def texts(intra: Sequence[Cat], inter: Sequence[Cat]) -> list[str]:
    """What a model reads of these CATs."""
    found = [a.sentence for cat in intra for a in cat.associations]
    return found + [f"{cat.context} {a.sentence}" for cat in inter for a in cat.associations]


def test_run_json_counts_tokens_and_unknown_ones(new: New, model: Callable[[str], Path]) -> None:
    work = new("bert", rule="pll")
    scored(work, CATS)
    tokenizer = open_tokenizer(str(model("bert")))
    tokens = [token for text in texts(INTRA, INTER) for token in tokenizer.tokenize(text)]
    assert 0 < tokens.count("[UNK]") < len(tokens)  # it knows no digits
    assert run_json(work)["tokens"] == {"read": len(tokens), "unknown": tokens.count("[UNK]")}
    # A word with a sign that WordPiece does not know is one unknown token, whatever else it has.
    assert count_tokens(tokenizer, ["kind and kind"])["unknown"] == 0
    assert count_tokens(tokenizer, ["kind 🥐🥐 and🥐kind"])["unknown"] == 2


def test_tokens_are_those_of_the_rules_and_counted_once(
    new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = new("gpt2", rule="conditional")
    scored(work, CATS)
    of_inter = run_json(work)["tokens"]
    assert of_inter == tokens_of(work.spec, texts([], INTER))
    assert of_inter["unknown"] == 0  # its unknown token is the end of a text, which is not read

    def never(*_: Any) -> None:
        raise AssertionError("counted again")

    monkeypatch.setattr(running, "tokens_of", never)
    scored(work, CATS)  # nothing to score, so nothing to count


def test_an_endpoint_tells_no_tokens_and_a_tokenizer_without_unknown_has_none() -> None:
    assert tokens_of(ModelSpec("served", url="http://127.0.0.1:1/v1"), ["a"]) is None

    class Bare:
        unk_token_id = None

        def __call__(self, texts: list[str], **_: Any) -> dict[str, Any]:
            return {"input_ids": [[1, 2] for _ in texts]}

    assert count_tokens(Bare(), ["a", "b"]) == {"read": 4, "unknown": 0}
    assert count_tokens(Bare(), []) == {"read": 0, "unknown": 0}


def test_run_json_says_how_many_parameters_the_model_has(tmp_path: Path) -> None:
    # GPT-2 of width 8, one layer, 128 positions, V tokens, output tied to the embeddings:
    # (V + 128)·8 embeddings; 2·16 for the layer's norms; 8·24 + 24 and 8·8 + 8 attention;
    # 8·32 + 32 and 32·8 + 8 the two linear layers; 16 for the last norm.
    folder = tiny.make(tmp_path / "tiny", ["the baker sings"], steps=0, width=8, layers=1)
    work = job(ModelSpec(str(folder), plain=True), tmp_path)
    scored(work, INTRA)
    opened = run_json(work)["opened"]
    layer = 32 + (8 * 24 + 24) + (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8)
    assert opened["parameters"] == (opened["vocabulary"] + 128) * 8 + layer + 16


# --- the model's own next-sentence head ---------------------------------------------------------


def test_acl_ll_does_not_take_a_models_own_head(new: New, tmp_path: Path) -> None:
    work = new("bert_pretrained", profile="acl-ll")
    head = "a next-sentence head that is trained in the same way for every model"
    with fails(f"acl-ll needs {head}", fix="curation scores train-nsp") as caught:
        score_cats(work, CATS)
    assert "--accept-own-head" in caught.value.fix
    assert list(tmp_path.iterdir()) == []
    # Without intersentence CATs no head is asked for.
    assert scored(work, INTRA) == NEW
    assert "own_head" not in run_json(work)


def test_an_own_head_that_is_accepted_is_said(new: New) -> None:
    work = new("bert_pretrained", profile="acl-ll", accept_own_head=True)
    assert scored(work, INTRA) == NEW  # does not read the head
    assert "own_head" not in run_json(work)
    assert scored(work, CATS) == ((6, 6, 0), [])
    assert run_json(work)["own_head"] is True
    assert run_json(work)["opened"]["nsp"]["next_sentence"]["head"] == "own"
    found = conclude(work, CATS, ties="half")
    title = "bert_pretrained, attribute-acl_nsp, own next-sentence head"
    assert found["splits"]["test"]["model"] == title


def test_other_profiles_take_berts_own_head(new: New) -> None:
    for profile in ("arxiv", "code"):
        work = new("bert_pretrained", profile=profile)
        assert scored(work, CATS)[0] == (12, 0, 0)
        assert "own_head" not in run_json(work)
