"""What a model's own files may not do: load code from a hub, or run code while they are read."""

import importlib
import pickle
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.files import CurationError, open_input

ATTENTION = (None, "eager", "sdpa", "flex_attention")
"""Kinds of attention whose code comes with torch; any other may be loaded from a hub."""
EXPERTS = (None, "eager", "batched_mm", "grouped_mm")
"""The same for layers of experts."""
_FIELDS = {"_attn_implementation_internal": ATTENTION, "_experts_implementation_internal": EXPERTS}
_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLES = ("*.pt", "*.pth", "*.ckpt", "*.pkl", "*.bin")
_CONVERT = (
    "python -c 'import sys, torch; from safetensors.torch import save_file; "
    'read = [torch.load(f, map_location="cpu", weights_only={safe}) for f in sys.argv[2:]]; '
    "save_file({{k: v.contiguous().clone() for w in read "
    'for k, v in w.get("state_dict", w).items() if torch.is_tensor(v)}}, '
    'sys.argv[1], {{"format": "pt"}})\' {files}'
)


def without_hub_code(config: Any) -> list[str]:
    """Remove what would make transformers load layers from a hub, from a configuration.

    ``attn_implementation`` and ``experts_implementation`` of a model's ``config.json`` may name a
    repository such as ``org/name``, whose code transformers then downloads and runs.

    Args:
        config: the configuration as transformers read it; it is changed.

    Returns:
        What was removed.
    """
    removed = []
    for part in _parts(config):
        for field, allowed in _FIELDS.items():
            value = getattr(part, field, None)
            if value not in allowed:
                setattr(part, field, None)
                removed.append(str(value))
    return removed


def _parts(config: Any) -> Iterator[Any]:
    """A configuration, and those of its parts."""
    yield config
    for value in vars(config).values():
        if hasattr(value, "_attn_implementation_internal"):
            yield from _parts(value)


def pickled_weights(folder: Path) -> list[str]:
    """The names of the pickle files that transformers reads a folder's weights from."""
    if not folder.is_dir() or any((folder / name).exists() for name in _SAFE):
        return []
    return sorted(path.name for path in folder.glob("pytorch_model*.bin"))


def pickle_error(name: str, error: Exception) -> CurationError | None:
    """The error of weights that are pickles and are not loaded; None if there is another cause.

    Weights in ``pytorch_model.bin`` are read with ``weights_only``: only tensors are read, and a
    file with anything else is not loaded. Pickle files with other names are never read.

    Args:
        name: the model: a folder, or a name on the hub.
        error: what transformers raised.
    """
    folder = Path(name)
    weights = [folder / file for file in pickled_weights(folder)]
    if isinstance(error, pickle.UnpicklingError) or "Weights only load failed" in str(error):
        where = next(filter(_has_more, weights), f"{name}, pytorch_model.bin")
        return CurationError(
            f"{where}: is a pickle file with more than weights; it is not loaded, because reading "
            "it could run any code",
            "name a model with safetensors; or, only if you trust the author of the file, convert "
            f"it: {_convert(folder, weights or [folder / 'pytorch_model.bin'], safe=False)}",
        )
    if weights or not folder.is_dir() or any(folder.glob("*.safetensors")):
        return None
    others = [path for pattern in _PICKLES for path in sorted(folder.glob(pattern))]
    if not others:
        return None
    return CurationError(
        f"{others[0]}: weights in a pickle file with this name are not loaded",
        f"convert it to safetensors: {_convert(folder, others[:1], safe=True)}",
    )


def _has_more(path: Path) -> bool:
    """Whether a pickle file has more than tensors."""
    torch = importlib.import_module("torch")
    try:
        with open_input(path) as file:
            torch.load(file, map_location="meta", weights_only=True)
    except pickle.UnpicklingError:
        return True
    except Exception:  # damaged in another way
        return False
    return False


def _convert(folder: Path, files: Sequence[Path], *, safe: bool) -> str:
    """The command that converts a folder's pickle files to safetensors."""
    paths = (folder / _SAFE[0], *files)
    return _CONVERT.format(safe=safe, files=shlex.join(map(str, paths)))
