"""A model's own files run no code: not from a hub, and not while its weights are read."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers.integrations import hub_kernels

from curation.models.loading import identity, load
from support.expected import Patch, fails, raising
from support.models import Made, edit
from support.written import beside

TABLES = beside(__file__)


@pytest.fixture
def folder(copy: Made) -> Path:
    """A tiny model that may be harmed."""
    return copy("gpt2")


class Touch:
    """What an unpickler would run: it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


# --- code from a hub ----------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "value"), TABLES["a_configuration_cannot_load_layers"])
def test_a_configuration_cannot_load_layers(
    folder: Path, monkeypatch: Patch, field: str, value: Any
) -> None:
    reached = raising(AssertionError("a hub was asked for code"))
    monkeypatch.setattr("transformers.modeling_utils.is_kernels_available", lambda: True)
    monkeypatch.setattr("transformers.modeling_utils.lazy_import_flash_attention", reached)
    for name in ("load_and_register_attn_kernel", "get_kernel"):
        monkeypatch.setattr(hub_kernels, name, reached)
    edit(folder / "config.json", **{field: value})
    identity(str(folder))
    loaded = load(str(folder))
    assert loaded.model.config._attn_implementation in ("sdpa", "eager")
    (notice,) = loaded.notices
    assert notice.startswith("gpt2: its configuration asks for «")
    assert loaded.model(torch.tensor([[1, 2]])).logits.shape[:2] == (1, 2)


@pytest.mark.parametrize("layers", ["eager", "sdpa"])
def test_a_configuration_can_choose_layers_of_torch(folder: Path, layers: str) -> None:
    edit(folder / "config.json", attn_implementation=layers)
    loaded = load(str(folder))
    assert (loaded.model.config._attn_implementation, loaded.notices) == (layers, [])


def test_code_beside_a_model_does_not_run_unless_allowed(folder: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"import os\nos.mkdir({str(ran)!r})\n"
    for module in ("own", "configuration_own", "tokenization_own"):
        (folder / f"{module}.py").write_text(code, "utf-8")
    own = {"AutoConfig": "configuration_own.Own", "AutoModelForCausalLM": "own.Own"}
    edit(folder / "config.json", auto_map=own)
    edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, "tokenization_own.T"]})
    edit(folder / "generation_config.json", custom_generate="bakery/generate")
    load(str(folder))  # transformers knows this type itself
    edit(folder / "config.json", model_type="abacus")
    for opening in (identity, load):
        with fails("without code that comes with it", fix="--trust-remote-code"):
            opening(str(folder))
    assert not ran.exists()


# --- pickled weights ----------------------------------------------------------------------------


def pickled(folder: Path, file: str, **more: Any) -> Path:
    """Replace a model's safetensors by a pickle file."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({**weights, **more}, folder / file)
    return folder / file


def convert(fix: str, monkeypatch: Patch) -> None:
    """Do in this process what the command in an error does."""
    *_, code, output, file = shlex.split(fix[fix.index("python -c") :])
    monkeypatch.setattr(sys, "argv", ["-c", output, file])
    exec(code, {})


def test_of_pickled_weights_tensors_alone_are_read(folder: Path, made: Made) -> None:
    pickled(folder, "pytorch_model.bin")
    loaded = load(str(folder))
    (notice,) = loaded.notices
    assert "a pickle file (pytorch_model.bin); only tensors are read" in notice
    usual = load(str(made("gpt2"))).model.state_dict()
    assert all(torch.equal(value, usual[name]) for name, value in loaded.model.state_dict().items())


def test_a_pickle_with_more_than_tensors_is_not_loaded(folder: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    path = pickled(folder, "pytorch_model.bin", more=Touch(ran))
    with fails(f"{path}: is a pickle file with more than weights") as caught:
        load(str(folder))
    assert "only if you trust the author" in caught.value.fix
    assert "weights_only=False" in caught.value.fix
    assert not ran.exists()


@pytest.mark.parametrize("file", ["model.ckpt", "weights.pt", "consolidated.00.pth"])
def test_a_pickle_with_another_name_is_named(folder: Path, monkeypatch: Patch, file: str) -> None:
    path = pickled(folder, file)
    with fails(f"{path}: weights in a pickle file with this name are not loaded") as caught:
        load(str(folder))
    if file == "model.ckpt":
        convert(caught.value.fix, monkeypatch)
        assert load(str(folder)).notices == []


def test_other_pickles_beside_safetensors_are_not_read(folder: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt"):
        torch.save({"x": Touch(ran)}, folder / name)
    assert load(str(folder)).notices == []
    assert not ran.exists()
