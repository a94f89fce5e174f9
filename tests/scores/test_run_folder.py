"""Folders of runs: named after their rules, old names and old rules, and what ``run.json`` says."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.models import tiny
from curation.models.loading import open_tokenizer
from curation.models.scoring import ModelSpec, open_scorer, tokens_of
from curation.models.tokens import count_tokens
from curation.records import GOLDS, Cat, CatAssociation, Kind
from curation.scores.running import Job, conclude, job, score_cats
from support.models import MAKERS

WORDS = ("kind", "grumpy", "square")
OPTIONS = ("She helps everybody.", "She helps nobody.", "Clouds drift over the hills.")


def cat(number: int, kind: Kind = "intrasentence") -> Cat:
    """Made-up CATs."""
    inter = kind == "intersentence"
    context = f"My baker lives in house {number}." if inter else f"Baker {number} is BLANK."
    sentences = OPTIONS if inter else [context.replace("BLANK", word) for word in WORDS]
    a, b, c = (
        CatAssociation(id=f"{kind[:5]}-{number}-{gold[0]}", sentence=sentence, gold=gold)
        for gold, sentence in zip(GOLDS, sentences, strict=True)
    )
    return Cat(
        id=f"{kind[:5]}-{number}", kind=kind, domain="profession", term="baker", target="baker",
        family="baker", split="test", context=context, associations=(a, b, c),
    )  # fmt: skip


INTRA = [cat(n) for n in range(2)]
INTER = [cat(n, "intersentence") for n in range(2)]
CATS = [*INTRA, *INTER]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: MAKERS[name](tmp_path_factory.mktemp("models") / name))


@pytest.fixture(autouse=True)
def closed_models() -> Iterator[None]:
    yield
    open_scorer.cache_clear()


def run(work: Job) -> Any:
    return json.loads((work.folder / "run.json").read_bytes())


def rewrite(work: Job, **fields: Any) -> None:
    """Change ``run.json``; None takes a field away."""
    about = {**run(work), **fields}
    kept = {key: value for key, value in about.items() if value is not None}
    (work.folder / "run.json").write_text(json.dumps(kept), "utf-8")


def scored(work: Job, cats: list[Cat]) -> tuple[dict[str, int], list[str]]:
    notices: list[str] = []
    counts = score_cats(work, cats, notice=notices.append)
    return counts, notices


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "folder"),
    [
        ("gpt2", {}, "ll-bos_conditional"),
        ("gpt2", {"variant": "lower"}, "ll-bos_conditional+lower"),
        ("gpt2", {"profile": "acl-pll"}, "ll-acl_ratio"),
        ("gpt2", {"profile": "acl-ll"}, "ll-acl_nsp"),
        ("gpt2", {"rule": "ll-acl"}, "ll-acl"),
        ("gpt2", {"rule": "ratio"}, "ratio"),
        ("bert", {"profile": "acl-pll"}, "pll-shared"),
        ("bert", {"profile": "code"}, "attribute-code-literal_nsp"),
    ],
)
def test_a_run_is_named_after_its_rules(
    model: Callable[[str], Path], tmp_path: Path, name: str, settings: dict[str, str], folder: str
) -> None:
    assert (
        job(ModelSpec(str(model(name)), plain=True), tmp_path, **settings).folder
        == tmp_path / name / folder
    )


def test_a_profile_and_a_rule_with_the_same_rules_are_one_run(
    model: Callable[[str], Path], tmp_path: Path
) -> None:
    wanted = ModelSpec(str(model("bert")), plain=True)
    assert scored(job(wanted, tmp_path, profile="acl-pll"), CATS)[0]["scored"] == 12
    again = job(wanted, tmp_path, rule="pll-shared")
    assert scored(again, CATS) == ({"scored": 0, "before": 12, "refused": 0}, [])


@pytest.mark.parametrize("content", ["[]", "{"])
def test_a_damaged_folder_beside_a_run_does_not_concern_it(
    model: Callable[[str], Path], tmp_path: Path, content: str
) -> None:
    work = job(ModelSpec(str(model("gpt2")), plain=True), tmp_path)
    other = work.folder.with_name("default")
    other.mkdir(parents=True)
    (other / "run.json").write_text(content, "utf-8")
    assert scored(work, INTRA)[0]["scored"] == 6
    assert (other / "run.json").read_text("utf-8") == content


# --- another run --------------------------------------------------------------------------------


def test_scores_of_another_run_are_set_aside_and_the_notice_says_what_differs(
    model: Callable[[str], Path], tmp_path: Path
) -> None:
    work = job(ModelSpec(str(model("bert")), plain=True), tmp_path, rule="attribute-acl")
    scored(work, INTRA)
    rewrite(work, dtype="bfloat16", versions={"curation": "0.0.1"})
    before = (work.folder / "scores.jsonl").read_bytes()
    counts, [notice] = scored(work, INTRA)
    assert counts == {"scored": 6, "before": 0, "refused": 0}
    [aside] = work.folder.glob("superseded/*")
    assert (aside / "scores.jsonl").read_bytes() == before
    assert notice == (
        f"{work.folder / 'run.json'}: another dtype and versions; the earlier scores are now in "
        f"{aside}"
    )
    assert scored(work, INTRA) == ({"scored": 0, "before": 6, "refused": 0}, [])


def test_what_a_run_json_lacks_and_does_not_identify_the_run_is_added(
    model: Callable[[str], Path], tmp_path: Path
) -> None:
    work = job(ModelSpec(str(model("bert")), plain=True), tmp_path, rule="attribute-arxiv")
    scored(work, INTRA)
    about = run(work)
    about["opened"].pop("parameters")
    rewrite(work, opened=about["opened"], tokens=None)
    assert scored(work, INTRA) == ({"scored": 0, "before": 6, "refused": 0}, [])
    assert run(work)["tokens"]["read"] > 0


# --- tokens and parameters ----------------------------------------------------------------------


def test_run_json_says_how_many_tokens_were_read_and_how_many_are_unknown(
    model: Callable[[str], Path], tmp_path: Path
) -> None:
    work = job(ModelSpec(str(model("bert")), plain=True), tmp_path, rule="pll")
    scored(work, CATS)
    tokenizer = open_tokenizer(str(model("bert")))
    texts = [a.sentence for each in INTRA for a in each.associations]
    texts += [f"{each.context} {a.sentence}" for each in INTER for a in each.associations]
    tokens = [token for text in texts for token in tokenizer.tokenize(text)]
    assert 0 < tokens.count("[UNK]") < len(tokens)  # it knows no digits
    assert run(work)["tokens"] == {"read": len(tokens), "unknown": tokens.count("[UNK]")}
    # A word with a sign that WordPiece does not know is one unknown token, whatever else it has.
    known = count_tokens(tokenizer, ["kind and kind"])
    assert known["unknown"] == 0
    assert count_tokens(tokenizer, ["kind 🥐🥐 and🥐kind"])["unknown"] == 2


def test_tokens_are_of_the_cats_that_the_rules_serve_and_counted_once(
    model: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from curation.scores import running

    work = job(ModelSpec(str(model("gpt2")), plain=True), tmp_path, rule="conditional")
    scored(work, CATS)
    of_inter = run(work)["tokens"]
    texts = [f"{each.context} {a.sentence}" for each in INTER for a in each.associations]
    assert of_inter == tokens_of(work.spec, texts)
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
    opened = run(work)["opened"]
    layer = 32 + (8 * 24 + 24) + (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8)
    assert opened["parameters"] == (opened["vocabulary"] + 128) * 8 + layer + 16


# --- the model's own next-sentence head ---------------------------------------------------------


def test_acl_ll_does_not_take_a_models_own_head(
    model: Callable[[str], Path], tmp_path: Path
) -> None:
    work = job(ModelSpec(str(model("bert_pretrained")), plain=True), tmp_path, profile="acl-ll")
    with pytest.raises(
        CurationError, match="acl-ll needs a next-sentence head that is trained"
    ) as caught:
        score_cats(work, CATS)
    assert "curation scores train-nsp" in caught.value.fix
    assert "--accept-own-head" in caught.value.fix
    assert list(tmp_path.iterdir()) == []
    # Without intersentence CATs no head is asked for.
    assert scored(work, INTRA)[0]["scored"] == 6
    assert "own_head" not in run(work)


def test_an_own_head_that_is_accepted_is_said(model: Callable[[str], Path], tmp_path: Path) -> None:
    work = job(
        ModelSpec(str(model("bert_pretrained")), plain=True),
        tmp_path,
        profile="acl-ll",
        accept_own_head=True,
    )
    assert scored(work, INTRA)[0]["scored"] == 6  # does not read the head
    assert "own_head" not in run(work)
    counts, notices = scored(work, CATS)
    assert (counts, notices) == ({"scored": 6, "before": 6, "refused": 0}, [])
    assert run(work)["own_head"] is True
    assert run(work)["opened"]["nsp"]["next_sentence"]["head"] == "own"
    found = conclude(work, CATS, ties="half")
    title = "bert_pretrained, attribute-acl_nsp, own next-sentence head"
    assert found["splits"]["test"]["model"] == title


@pytest.mark.parametrize("profile", ["arxiv", "code"])
def test_other_profiles_take_berts_own_head(
    model: Callable[[str], Path], tmp_path: Path, profile: str
) -> None:
    work = job(ModelSpec(str(model("bert_pretrained")), plain=True), tmp_path, profile=profile)
    assert scored(work, CATS)[0]["scored"] == 12
    assert "own_head" not in run(work)
