"""What is opened is what was named; what cannot be opened says why, at once and offline."""

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.models import loading
from curation.models.forward import Runner, Text
from curation.models.loading import called, family_of, fingerprint, identity, load
from support.expected import Patch, fails, raising
from support.models import CAUSAL, MASKED, SEQ2SEQ, WINDOW, Made, cached, edit, offline
from support.written import beside

HF: Any = importlib.import_module("transformers")
FAMILY = {
    **dict.fromkeys(CAUSAL, "causal"),
    **dict.fromkeys(MASKED, "masked"),
    **dict.fromkeys(SEQ2SEQ, "seq2seq"),
    "xlnet": "xlnet",
}
OPENINGS = (identity, load)


# --- which family -------------------------------------------------------------------------------


CONFIGS = beside(__file__)


def config(type: str, architecture: str = "", **settings: Any) -> Any:
    found = HF.AutoConfig.for_model(type, **settings)
    found.architectures = [architecture] if architecture else None
    return found


@pytest.mark.parametrize(
    ("family", "given"), [(family, given) for family in CONFIGS for given in CONFIGS[family]]
)
def test_families_by_configuration(family: str, given: dict[str, Any]) -> None:
    assert family_of(config(**given)) == family


def test_a_model_of_images_has_no_family() -> None:
    with fails("type «vit» is not a language model"):
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
    for opening in OPENINGS:
        with fails(says, fix="leave out --family"):
            opening(str(made(name)), family=family)
    assert identity(str(made(name)), family=FAMILY[name])["family"] == FAMILY[name]  # type: ignore[arg-type]


def test_gpt2_is_no_masked_model(made: Made) -> None:
    with fails("gpt2: cannot be loaded: Unrecognized configuration"):
        load(str(made("gpt2")), family="masked")


# --- what is not there --------------------------------------------------------------------------


def test_a_folder_that_holds_no_model(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}", "utf-8")
    for opening in OPENINGS:
        for place, says in (
            (tmp_path, "has no config.json"),
            (tmp_path / "none", "none: no such folder"),
            ("./none", "none: no such folder"),
            (tmp_path / "file", "file: is a file, not a folder"),
        ):
            with fails(says):
                opening(str(place))


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
    for opening in OPENINGS:
        with fails("gpt2: cannot be loaded: ", says):
            opening(str(folder))


@pytest.mark.parametrize("harm", ["half", "empty", "pointer", "gone", "other size"])
def test_damaged_weights(copy: Made, harm: str) -> None:
    path = copy("gpt2") / "model.safetensors"
    data = path.read_bytes()
    if harm == "gone":
        path.unlink()
    elif harm == "other size":
        edit(path.with_name("config.json"), n_embd=64)
    else:  # a pointer is what a clone without Git LFS leaves
        pointer = b"version https://git-lfs.example/spec/v1\nsize 12\n"
        half = data[: len(data) // 2]
        path.write_bytes({"half": half, "empty": b"", "pointer": pointer}[harm])
    with fails("gpt2: cannot be loaded: ", fix="be incomplete or damaged"):
        load(str(path.parent))


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_without_tokenizer_files_there_is_no_empty_tokenizer(copy: Made, name: str) -> None:
    # transformers makes one that knows its special tokens only: every text would be empty.
    folder = copy(name)
    for path in folder.glob("*token*"):
        path.unlink()
    with fails(f"{name}: has no tokenizer"):
        load(str(folder))


def test_a_damaged_tokenizer(copy: Made) -> None:
    folder = copy("gpt2")
    (folder / "tokenizer.json").write_text('{"version": "1.0"}', "utf-8")
    with fails("gpt2: cannot be loaded: "):
        load(str(folder))


@pytest.mark.parametrize(("name", "kind"), [("gpt2", "GPT2Model"), ("bert", "BertModel")])
def test_a_body_without_its_head_is_an_error(copy: Made, name: str, kind: str) -> None:
    folder = copy(name)
    body = getattr(HF, kind).from_pretrained(folder)
    body.config.tie_word_embeddings = False
    body.save_pretrained(folder)
    with fails(f"{name}: has no trained weights for ") as failed:
        load(str(folder))
    assert re.search(r"for \S+ \(\d+ weights? missing", failed.value.what)
    assert load(str(folder), head="none").model is not None  # the body itself is all there


def test_a_next_sentence_head_must_have_been_trained(made: Made) -> None:
    found = load(str(made("bert_pretrained")), head="next-sentence")
    assert found.about["architecture"] == "BertForNextSentencePrediction"
    with fails("bert: has no trained weights for", fix="curation scores train-nsp"):
        load(str(made("bert")), head="next-sentence")


# --- device and dtype ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "says", "fix"),
    [
        ({"device": "abacus"}, "no device «abacus»", "auto, cpu, cuda"),
        ({"device": "cuda:x"}, "no device «cuda:x»", "auto, cpu, cuda"),
        ({"device": "meta"}, "no device «meta»", "auto, cpu, cuda"),
        ({"device": ""}, "no device «»", "auto, cpu, cuda"),
        ({"dtype": "float7"}, "no dtype «float7»", "auto, float32, bfloat16, float16"),
    ],
)
def test_an_unknown_device_or_dtype(
    made: Made, wanted: dict[str, Any], says: str, fix: str
) -> None:
    for opening in OPENINGS:
        with fails(says, fix=fix):
            opening(str(made("gpt2")), **wanted)


def test_a_device_that_this_machine_lacks(made: Made) -> None:
    with fails("gpt2: cannot be moved to cuda:77: ", fix="use another --device"):
        load(str(made("gpt2")), device="cuda:77")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_dtype_asked_for_is_the_one_that_runs(made: Made, dtype: str) -> None:
    loaded = load(str(made("gpt2")), dtype=dtype, device="cpu")
    assert loaded.model.dtype == getattr(torch, dtype)
    assert loaded.about["dtype"] == dtype == identity(str(made("gpt2")), dtype=dtype)["dtype"]


def test_a_processor_takes_float32_whatever_was_saved(copy: Made) -> None:
    folder = copy("gpt2")
    half: Any = HF.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    half.save_pretrained(folder)
    assert '"dtype": "bfloat16"' in (folder / "config.json").read_text("utf-8")
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


def test_without_accelerate_it_says_what_to_install(made: Made, monkeypatch: Patch) -> None:
    error = ImportError("Using `device_map` requires Accelerate: `pip install accelerate`")
    monkeypatch.setattr(HF.AutoModelForCausalLM, "from_pretrained", raising(error))
    with fails("pip install accelerate"):
        load(str(made("gpt2")), device="map")


# --- offline ------------------------------------------------------------------------------------

OPENS = """
from curation.files import CurationError
from curation.models.loading import load
for name in names:
    try:
        print(load(name).about["revision"])
    except CurationError as error:
        print("error:", error.what, "|", error.fix)
"""


def test_a_model_on_disk_or_in_the_hubs_cache_needs_no_network(made: Made, tmp_path: Path) -> None:
    # Not even told to stay offline.
    found = [fingerprint(made("gpt2")), cached(made("gpt2"), tmp_path)]
    assert offline(OPENS, tmp_path, str(made("gpt2")), "bakery/small").split() == found


def test_offline_a_model_that_is_not_on_disk_is_said_at_once(tmp_path: Path) -> None:
    said = offline(OPENS, tmp_path, "bakery/small", HF_HUB_OFFLINE="1")
    assert said.startswith("error: bakery/small: cannot be loaded: ")
    assert "models that are not on disk need the network" in said


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
    for name in ("README.md", ".cache/times", ".hidden", "checkpoint-5/model.safetensors"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x", "utf-8")
    assert fingerprint(folder) == before
    folder = folder.rename(tmp_path / "elsewhere")
    assert fingerprint(folder) == before  # it is the content's, not the place's
    known = identity(str(folder))
    edit(folder / "tokenizer_config.json", model_max_length=7)
    assert fingerprint(folder) != before
    now = identity(str(folder))
    assert [key for key in known if known[key] != now[key]] == ["revision"]


def test_a_file_is_read_once_while_it_stays(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "a.bin").write_bytes(b"some bytes")
    read: list[str] = []
    original = loading.hashlib.file_digest

    def digest(file: Any, name: str) -> Any:
        read.append(file.name)
        return original(file, name)

    monkeypatch.setattr(loading.hashlib, "file_digest", digest)
    assert fingerprint(tmp_path) == fingerprint(tmp_path)
    assert read == [str((tmp_path / "a.bin").resolve())]


def test_what_a_model_is_called(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "small").mkdir()
    monkeypatch.chdir(tmp_path / "small")
    for name in (".", "../small", "../small/", str(tmp_path / "small")):
        assert called(name) == "small"
    assert called("bakery/small") == "bakery/small"


def test_without_torch_the_mend_is_to_install_it(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with fails("models cannot be run", fix="pip install 'curation[models]'"):
        identity("bakery/small")
