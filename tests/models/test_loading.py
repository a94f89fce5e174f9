"""What is opened is what was named; what cannot be opened says why, at once and offline."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files import CurationError
from curation.models import loading, tiny
from curation.models.forward import Runner, Text
from curation.models.loading import called, family_of, fingerprint, identity, load
from support.models import CAUSAL, MAKERS, MASKED, SEQ2SEQ, WINDOW

HF: Any = importlib.import_module("transformers")
ROOT = Path(__file__).parents[2]
FAMILY = {
    **dict.fromkeys(CAUSAL, "causal"),
    **dict.fromkeys(MASKED, "masked"),
    **dict.fromkeys(SEQ2SEQ, "seq2seq"),
    "xlnet": "xlnet",
}
Made = Callable[[str], Path]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A tiny model of a sort, made once."""
    root = tmp_path_factory.mktemp("zoo")

    def make(name: str) -> Path:
        return root / name if (root / name).exists() else MAKERS[name](root / name)

    return make


@pytest.fixture
def copy(made: Made, tmp_path: Path) -> Made:
    """A copy of it that may be harmed."""
    return lambda name: Path(shutil.copytree(made(name), tmp_path / name))


def edit(path: Path, **values: Any) -> None:
    content = json.loads(path.read_bytes())
    path.write_text(json.dumps({**content, **values}), "utf-8")


# --- which family -------------------------------------------------------------------------------


def config(type_: str, *architectures: str, **settings: Any) -> Any:
    found = HF.AutoConfig.for_model(type_, **settings)
    found.architectures = list(architectures) or None
    return found


@pytest.mark.parametrize(
    ("given", "family"),
    [
        (("gpt2", "GPT2LMHeadModel"), "causal"),
        (("gpt2",), "causal"),  # a body alone, and what can be built of it
        (("gpt2", "GPT2DoubleHeadsModel"), "causal"),
        (("llama", "LlamaForCausalLM"), "causal"),
        (("mamba",), "causal"),
        (("bert", "BertForMaskedLM"), "masked"),
        (("bert", "BertForPreTraining"), "masked"),
        (("bert", "BertForNextSentencePrediction"), "masked"),
        (("bert",), "masked"),
        (("modernbert", "ModernBertForMaskedLM"), "masked"),
        (("xlnet", "XLNetLMHeadModel"), "xlnet"),
        (("t5", "T5ForConditionalGeneration"), "seq2seq"),
        (("t5",), "seq2seq"),
        (("mbart", "MBartForConditionalGeneration"), "seq2seq"),
        # its name says «LM head» whichever way it reads
        (("xlm", "XLMWithLMHeadModel"), "masked"),
        # a head for the left, on a body that reads both ways all the same
        (("bert", "BertLMHeadModel"), "masked"),
        (("roberta", "RobertaForCausalLM"), "masked"),
    ],
)
def test_families_by_configuration(given: tuple[str, ...], family: str) -> None:
    assert family_of(config(*given)) == family


def test_a_body_that_reads_left_only_is_causal() -> None:
    assert family_of(config("bert", "BertLMHeadModel", is_decoder=True)) == "causal"
    assert family_of(config("xlm", "XLMWithLMHeadModel", causal=True)) == "causal"
    bart = config("bart", "BartForCausalLM", is_decoder=True, is_encoder_decoder=False)
    assert family_of(bart) == "causal"


def test_what_is_no_language_model_is_named() -> None:
    with pytest.raises(CurationError, match="type «vit» is not a language model"):
        family_of(config("vit", "ViTForImageClassification"))


@pytest.mark.parametrize("name", sorted(FAMILY))
def test_identity_says_before_what_loading_says_after(made: Made, name: str) -> None:
    before, loaded = identity(str(made(name))), load(str(made(name)))
    assert before["family"] == loaded.family == FAMILY[name]
    assert before["device"] == "cpu"
    assert {key: loaded.about[key] for key in before} == before
    assert (before["model"], loaded.name) == (name, name)
    assert loaded.window in (None, WINDOW)
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())


# Two rules out, each of which would give figures without a complaint: a model that reads both ways
# sees the tokens that it is asked to predict from the left.
@pytest.mark.parametrize(
    ("name", "family"),
    [
        *[("bert", "causal"), ("roberta", "causal"), ("xlnet", "causal"), ("bart", "causal")],
        *[("bart", "masked"), ("xlnet", "masked"), ("gpt2", "xlnet"), ("gpt2", "seq2seq")],
    ],
)
def test_a_model_is_not_taken_as_what_it_is_not(made: Made, name: str, family: Any) -> None:
    says = f"{name}: is a {FAMILY[name]} model and cannot be used as a {family} model"
    for opening in (identity, load):
        with pytest.raises(CurationError, match=says) as caught:
            opening(str(made(name)), family=family)
        assert caught.value.fix == "leave out --family"
    assert identity(str(made(name)), family=FAMILY[name])["family"] == FAMILY[name]  # type: ignore[arg-type]


def test_gpt2_is_no_masked_model(made: Made) -> None:
    with pytest.raises(CurationError, match="gpt2: cannot be loaded: Unrecognized configuration"):
        load(str(made("gpt2")), family="masked")


# --- what is not there --------------------------------------------------------------------------


def test_a_folder_that_holds_no_model(tmp_path: Path) -> None:
    for opening in (identity, load):
        with pytest.raises(CurationError, match=r"has no config\.json"):
            opening(str(tmp_path))
        with pytest.raises(CurationError, match="none: no such folder"):
            opening(str(tmp_path / "none"))
        with pytest.raises(CurationError, match="none: no such folder"):
            opening("./none")
        (tmp_path / "file").write_text("{}", "utf-8")
        with pytest.raises(CurationError, match="file: is a file, not a folder"):
            opening(str(tmp_path / "file"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not a valid JSON file"),
        ("{}", "Unrecognized model"),
        ('{"model_type": "abacus"}', "model type `abacus`"),
    ],
)
def test_a_configuration_that_says_nothing(copy: Made, content: str, says: str) -> None:
    folder = copy("gpt2")
    (folder / "config.json").write_text(content, "utf-8")
    for opening in (identity, load):
        with pytest.raises(CurationError, match=f"gpt2: cannot be loaded: .*{says}"):
            opening(str(folder))


@pytest.mark.parametrize("harm", ["half", "empty", "pointer", "gone", "other size"])
def test_damaged_weights(copy: Made, harm: str) -> None:
    folder = copy("gpt2")
    path = folder / "model.safetensors"
    data = path.read_bytes()
    if harm == "half":
        path.write_bytes(data[: len(data) // 2])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "pointer":  # what a clone without Git LFS leaves
        path.write_text("version https://git-lfs.example/spec/v1\nsize 12\n", "utf-8")
    elif harm == "gone":
        path.unlink()
    else:
        edit(folder / "config.json", n_embd=64)
    with pytest.raises(CurationError, match="gpt2: cannot be loaded: ") as caught:
        load(str(folder))
    assert "be incomplete or damaged" in caught.value.fix


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_without_tokenizer_files_there_is_an_error_and_no_empty_tokenizer(
    copy: Made, name: str
) -> None:
    # transformers makes one that knows its special tokens only: every text would be empty.
    folder = copy(name)
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(CurationError, match=f"{name}: has no tokenizer"):
        load(str(folder))


def test_a_damaged_tokenizer(copy: Made) -> None:
    folder = copy("gpt2")
    (folder / "tokenizer.json").write_text('{"version": "1.0"}', "utf-8")
    with pytest.raises(CurationError, match="gpt2: cannot be loaded: "):
        load(str(folder))


@pytest.mark.parametrize(("name", "kind"), [("gpt2", "GPT2Model"), ("bert", "BertModel")])
def test_a_body_without_its_head_is_an_error(copy: Made, name: str, kind: str) -> None:
    folder = copy(name)
    body = getattr(HF, kind).from_pretrained(folder)
    body.config.tie_word_embeddings = False
    body.save_pretrained(folder)
    with pytest.raises(
        CurationError, match=rf"{name}: has no trained weights for \S+ \(\d+ weights? missing"
    ):
        load(str(folder))
    assert load(str(folder), head="none").model is not None  # the body itself is all there


def test_a_next_sentence_head_must_have_been_trained(made: Made) -> None:
    found = load(str(made("bert_pretrained")), head="next-sentence")
    assert found.about["architecture"] == "BertForNextSentencePrediction"
    with pytest.raises(CurationError, match="bert: has no trained weights for") as caught:
        load(str(made("bert")), head="next-sentence")
    assert "curation scores train-nsp" in caught.value.fix


# --- device and dtype ---------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["abacus", "cuda:x", "meta", ""])
def test_a_device_that_torch_does_not_know(made: Made, device: str) -> None:
    for opening in (identity, load):
        with pytest.raises(CurationError, match=f"no device «{device}»") as caught:
            opening(str(made("gpt2")), device=device)
        assert "auto, cpu, cuda" in caught.value.fix


def test_a_device_that_this_machine_lacks(made: Made) -> None:
    with pytest.raises(CurationError, match="gpt2: cannot be moved to cuda:77: ") as caught:
        load(str(made("gpt2")), device="cuda:77")
    assert caught.value.fix == "use another --device"


def test_a_dtype_that_is_not_known(made: Made) -> None:
    for opening in (identity, load):
        with pytest.raises(CurationError, match="no dtype «float7»") as caught:
            opening(str(made("gpt2")), dtype="float7")
        assert "auto, float32, bfloat16, float16" in caught.value.fix


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_dtype_asked_for_is_the_one_that_runs(made: Made, dtype: str) -> None:
    loaded = load(str(made("gpt2")), dtype=dtype, device="cpu")
    assert loaded.model.dtype == getattr(torch, dtype)
    assert loaded.about["dtype"] == dtype == identity(str(made("gpt2")), dtype=dtype)["dtype"]


def test_a_processor_takes_float32_whatever_was_saved(copy: Made) -> None:
    folder = copy("gpt2")
    half: Any = HF.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    half.save_pretrained(folder)
    assert json.loads((folder / "config.json").read_bytes())["dtype"] == "bfloat16"
    assert identity(str(folder), device="cpu")["dtype"] == "float32"
    assert load(str(folder), device="cpu").about["dtype"] == "float32"


@pytest.mark.skipif(not importlib.util.find_spec("accelerate"), reason="needs accelerate")
@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_model_that_is_spread_gives_the_same(copy: Made, name: str) -> None:
    folder = str(copy(name))
    texts = [Text([5, 6, 7, 8], [(1, 6), (3, 9)]), Text([9, 8], [(0, 3)])]
    usual, spread = (load(folder, device=device) for device in ("cpu", "map"))
    assert spread.about["device"] == identity(folder, device="map")["device"] == "map"
    assert spread.about["dtype"] == identity(folder, device="map")["dtype"] == "float32"
    ours, theirs = (Runner(loaded).log_probs(texts) for loaded in (usual, spread))
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, abs=1e-5)


def test_spreading_without_accelerate_says_what_to_install(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("Using `device_map` requires Accelerate: `pip install accelerate`")

    monkeypatch.setattr(HF.AutoModelForCausalLM, "from_pretrained", missing)
    with pytest.raises(CurationError, match="pip install accelerate"):
        load(str(made("gpt2")), device="map")


# --- offline ------------------------------------------------------------------------------------

OPENS = """
import sys, socket
def nobody(*args, **settings):
    print("the network was asked", file=sys.stderr)
    raise OSError("nobody there")
socket.getaddrinfo = socket.create_connection = nobody
from curation.files import CurationError
from curation.models.loading import load
try:
    print(load(sys.argv[1]).about["revision"])
except CurationError as error:
    print("error:", error.what, "|", error.fix)
"""


def opened(name: str, home: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OPENS, name],
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HOME": str(home), **env},
        capture_output=True, encoding="utf-8", check=False, timeout=120,
    )  # fmt: skip


def test_a_model_on_disk_needs_no_network(made: Made, tmp_path: Path) -> None:
    done = opened(str(made("gpt2")), tmp_path)  # not even told to stay offline
    assert done.stdout.strip() == fingerprint(made("gpt2")), done.stderr
    assert "the network was asked" not in done.stderr


def test_offline_a_model_that_is_not_on_disk_is_said_at_once(tmp_path: Path) -> None:
    done = opened("bakery/small", tmp_path, HF_HUB_OFFLINE="1")
    assert done.stdout.startswith("error: bakery/small: cannot be loaded: ")
    assert "models that are not on disk need the network" in done.stdout
    assert "the network was asked" not in done.stderr


def test_a_model_of_the_hub_is_taken_from_the_cache(made: Made, tmp_path: Path) -> None:
    # As the hub's client lays it: snapshots by commit, and which commit a branch is.
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "hub" / "models--bakery--small"
    shutil.copytree(made("gpt2"), cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit, "utf-8")
    done = opened("bakery/small", tmp_path)
    assert done.stdout.strip() == commit, done.stderr
    assert "the network was asked" not in done.stderr


# --- fingerprints and names ---------------------------------------------------------------------


def test_a_fingerprint_changes_with_any_weight(tmp_path: Path) -> None:
    # Three megabytes, and one bit in the middle: what tuning a few layers changes.
    path = tmp_path / "model.safetensors"
    data = bytearray(3 << 20)
    path.write_bytes(data)
    before = fingerprint(tmp_path)
    assert before.startswith("sha256:")
    assert fingerprint(tmp_path) == before
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))  # whatever the clock's grain
    changed = fingerprint(tmp_path)
    assert changed != before
    path.rename(tmp_path / "other.safetensors")
    assert fingerprint(tmp_path) not in (before, changed)


def test_a_fingerprint_is_of_what_a_model_is_loaded_from(copy: Made, tmp_path: Path) -> None:
    folder = copy("gpt2")
    before = fingerprint(folder)
    (folder / "README.md").write_text("notes", "utf-8")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "times").write_text("now", "utf-8")
    (folder / ".hidden").write_text("x", "utf-8")
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5" / "model.safetensors").write_bytes(b"x")
    assert fingerprint(folder) == before
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    assert fingerprint(moved) == before  # it is the content's, not the place's
    edit(folder / "tokenizer_config.json", model_max_length=7)
    assert fingerprint(folder) != before


def test_a_changed_weight_changes_the_identity(copy: Made) -> None:
    folder = copy("gpt2")
    before = identity(str(folder))
    model: Any = HF.AutoModelForCausalLM.from_pretrained(folder)
    model.transformer.h[1].mlp.c_fc.bias.data[3] += 1e-3
    model.save_pretrained(folder)
    after = identity(str(folder))
    assert [key for key in before if before[key] != after[key]] == ["revision"]


def test_a_file_is_read_once_while_it_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.bin").write_bytes(b"some bytes")
    read: list[str] = []
    original = loading.hashlib.file_digest

    def digest(file: Any, name: str) -> Any:
        read.append(file.name)
        return original(file, name)

    monkeypatch.setattr(loading.hashlib, "file_digest", digest)
    assert fingerprint(tmp_path) == fingerprint(tmp_path)
    assert read == [str((tmp_path / "a.bin").resolve())]


def test_what_a_model_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small").mkdir()
    monkeypatch.chdir(tmp_path / "small")
    for name in (".", "../small", "../small/", str(tmp_path / "small")):
        assert called(name) == "small"
    assert called("bakery/small") == "bakery/small"


def test_without_torch_the_mend_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(CurationError, match="models cannot be run") as caught:
        identity("bakery/small")
    assert caught.value.fix == "pip install 'curation[models]'"


def test_a_tiny_model_is_one_like_any_other(tmp_path: Path) -> None:
    folder = tiny.make(tmp_path / "tiny", ["the baker sings"], steps=0)
    assert identity(str(folder))["model"] == "tiny"
    assert load(str(folder)).window == 128
