"""Open a language model by its hub name or folder, and record exactly what was opened."""

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation import __version__
from curation.files import CurationError, open_input, printable
from curation.models.families import chosen_family, family_of_body
from curation.models.heads import TRAINERS, Head, class_of, missing_weights
from curation.models.rules import Family
from curation.models.safety import pickle_error, pickled_weights, without_hub_code
from curation.text.wording import amount

DTYPES = ("auto", "float32", "bfloat16", "float16")
_PACKAGES = ("torch", "transformers", "tokenizers")
_ENVIRONMENT = {
    "HF_HUB_DISABLE_TELEMETRY": "1",  # it contacts the hub even if everything is on disk
    "DISABLE_SAFETENSORS_CONVERSION": "1",  # asks a service on the hub to convert pickled weights
    "USE_HUB_KERNELS": "NO",  # layers whose code is loaded from the hub
}
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NO_LIMIT = 10**9  # tokenizers without a limit state a huge one
_POSITIONS = ("n_positions", "max_position_embeddings", "n_ctx", "max_seq_len")


@dataclass
class Loaded:
    """A model that can be run.

    Attributes:
        name: its name on the hub, or the name of its folder.
        family: its family.
        model: the model, as transformers opens it.
        tokenizer: its tokenizer.
        about: what was opened, for ``run.json``.
        notices: messages for the user.
    """

    name: str
    family: Family
    model: Any
    tokenizer: Any
    about: dict[str, Any]
    notices: list[str] = field(default_factory=list)

    @property
    def device(self) -> Any:
        """The device of its inputs."""
        return self.model.device

    @property
    def window(self) -> int | None:
        """The largest number of tokens that it reads at once; None if there is no limit."""
        config = self.model.config.get_text_config()
        names = () if self.family == "xlnet" else _POSITIONS  # XLNet's positions are relative
        sizes = [getattr(config, name, None) for name in names]
        offset = position_offset(self.model)
        limits = [n - offset for n in sizes if isinstance(n, int) and n > 0]
        stated = getattr(self.tokenizer, "model_max_length", None)
        if isinstance(stated, int) and 0 < stated < _NO_LIMIT:
            limits.append(stated)
        return min(limits, default=None)


def position_offset(model: Any) -> int:
    """The position of the first token: models like RoBERTa count from the padding index + 1."""
    embeddings: Any = getattr(getattr(model, "base_model", None), "embeddings", None)
    module = sys.modules.get(type(embeddings).__module__)
    counts = [
        hasattr(owner, "create_position_ids_from_input_ids") for owner in (embeddings, module)
    ]
    known = getattr(embeddings, "padding_idx", None) is not None
    return int(embeddings.padding_idx) + 1 if any(counts) and known else 0


def _torch() -> tuple[Any, Any]:
    for setting, value in _ENVIRONMENT.items():
        os.environ.setdefault(setting, value)
    try:
        torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
    except ImportError as error:
        raise CurationError(
            f"models cannot be run: {error}", "pip install 'curation[models]'"
        ) from None
    transformers.utils.logging.disable_progress_bar()  # this package shows its own
    transformers.utils.logging.set_verbosity_error()
    return torch, transformers


def identity(
    name: str,
    *,
    family: Family | None = None,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> dict[str, Any]:
    """The fields that identify a model's scores, without loading its weights.

    The arguments are those of ``load``.

    Raises:
        CurationError: the model does not exist, or is not a language model.
    """
    torch, transformers = _torch()
    source: dict[str, Any] = {
        "revision": revision or "main",
        "trust_remote_code": trust_remote_code,
    }
    config = _fetch(transformers.AutoConfig, name, source)
    place = _place(torch, device)
    precision = _dtype(torch, dtype, place)
    if precision == "auto":
        precision = getattr(config.get_text_config(), "dtype", None) or torch.float32
    return {
        "model": called(name),
        "family": chosen_family(config, family, name),
        "revision": _revision(config, name, source["revision"]),
        "dtype": str(precision).removeprefix("torch."),
        "device": place.partition(":")[0],
        "versions": versions(),
    }


def load(
    name: str,
    *,
    head: Head = "lm",
    family: Family | None = None,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
    fresh: Sequence[str] = (),
) -> Loaded:
    """Load a model and its tokenizer.

    Files on disk are used without reaching the network; only missing ones are downloaded.

    Args:
        name: a folder, or a name on the hub.
        head: «lm» for the language modelling head, «next-sentence» for BERT's own next-sentence
            head, «classes» for a classifier of texts, «none» for the body alone.
        family: the family of the model; by default as ``families.family_of`` says.
        device: «auto» (a GPU if there is one), «map» (spread over all GPUs and memory), or a
            device of torch.
        dtype: «auto» is float32 on a CPU and the model's own elsewhere.
        revision: a branch, tag or commit on the hub.
        trust_remote_code: run code that comes with the model.
        fresh: names of the classes that a head is going to learn; weights that are missing, or have
            another shape, are drawn at random by torch.

    Raises:
        CurationError: the model does not exist, cannot be read, or has no weights for the head.
    """
    torch, transformers = _torch()
    source: dict[str, Any] = {
        "revision": revision or "main",
        "trust_remote_code": trust_remote_code,
    }
    config = _fetch(transformers.AutoConfig, name, source)
    if head == "lm" and (Path(name) / "head.json").exists():
        raise CurationError(
            f"{name}: is a trained next-sentence model and no longer predicts words",
            "use it for the rule nsp: as MODEL with --rule nsp, or with --nsp for another MODEL",
        )
    family = chosen_family(config, family, name) if head != "classes" else family_of_body(config)
    notices = [
        f"{called(name)}: its configuration asks for «{layer}», which is not part of torch; the "
        "usual layers are used instead"
        for layer in without_hub_code(config)
    ]
    if pickles := pickled_weights(Path(name)):
        notices.append(
            f"{called(name)}: its weights are in a pickle file ({pickles[0]}); only tensors are "
            "read from it. docs/models.md describes how to convert it to safetensors"
        )
    place = _place(torch, device)
    precision = _dtype(torch, dtype, place)
    tokenizer = _tokenizer(transformers, name, source)
    auto = class_of(transformers, head, family)
    options: dict[str, Any] = {"device_map": "auto"} if place == "map" else {}
    if fresh:
        config.id2label = dict(enumerate(fresh))  # also sets the number of classes
        config.label2id = {label: number for number, label in enumerate(fresh)}
        options["ignore_mismatched_sizes"] = True
    options |= {"dtype": precision, "config": config, "output_loading_info": True}
    model, report = _fetch(auto, name, source | options)
    if missing := missing_weights(model, report, head=head, fresh=bool(fresh)):
        raise CurationError(
            f"{name}: has no trained weights for {missing[0]} "
            f"({amount(len(missing), 'weight')} missing)",
            "the model was saved without this head: name another model" + TRAINERS[head],
        )
    try:
        model = model.eval() if place == "map" else model.eval().to(place)
    except (RuntimeError, AssertionError) as error:
        raise CurationError(
            f"{name}: cannot be moved to {place}: {_first_line(error)}", "use another --device"
        ) from None
    model.requires_grad_(False)
    about = {
        "model": called(name),
        "family": family,
        "architecture": type(model).__name__,
        "revision": _revision(config, name, source["revision"]),
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device) if place != "map" else "map",
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "tokenizer": type(tokenizer).__name__,
        "vocabulary": len(tokenizer),
        "versions": versions(),
    }
    return Loaded(called(name), family, model, tokenizer, about, notices)


def open_tokenizer(
    name: str, *, revision: str | None = None, trust_remote_code: bool = False
) -> Any:
    """A model's tokenizer; the arguments are those of ``load``.

    Raises:
        CurationError: the model does not exist, or has no tokenizer.
    """
    _, transformers = _torch()
    source = {"revision": revision or "main", "trust_remote_code": trust_remote_code}
    return _tokenizer(transformers, name, source)


def token_counter(name: str) -> Callable[[str], int]:
    """A function that counts the tokens of a text, without special tokens.

    Args:
        name: a model, as in ``load``.

    Raises:
        CurationError: the model does not exist, or has no tokenizer.
    """
    tokenizer = open_tokenizer(name)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _tokenizer(transformers: Any, name: str, source: dict[str, Any]) -> Any:
    tokenizer = _fetch(transformers.AutoTokenizer, name, source)
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes it if files lack
        raise CurationError(
            f"{name}: has no tokenizer",
            "save the tokenizer to the same folder with save_pretrained",
        )
    return tokenizer


def called(name: str) -> str:
    """The name of a model: its name on the hub, or the name of its folder.

    >>> called("bakery/small-model")
    'bakery/small-model'
    """
    exists = os.path.exists(name)  # noqa: PTH110 - a name may be too long for a path
    return printable(Path(name).resolve().name if exists else name)


def versions() -> dict[str, str]:
    """The versions of all packages that a score may depend on."""
    packages = {name: str(importlib.import_module(name).__version__) for name in _PACKAGES}
    return {"curation": __version__, **packages}


def fingerprint(folder: Path) -> str:
    """The sha256 of the names and contents of a folder's files: its weights and tokenizer.

    Files are read as a whole, because fine-tuned weights may differ in a few layers only.
    Subfolders, hidden files and Markdown files do not count: no model is loaded from them.

    Raises:
        CurationError: a file cannot be read for lack of permission.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(p for p in folder.iterdir() if p.is_file()):
            if path.name.startswith(".") or path.suffix == ".md":
                continue
            stat = path.stat()
            content = _digest(path.resolve(), stat.st_size, stat.st_mtime_ns)
            digest.update(f"{path.name}\0{content}\0".encode())
    except OSError as error:
        raise CurationError(
            f"{error.filename}: cannot be read: {error.strerror}",
            "give yourself permission to read it",
        ) from None
    return f"sha256:{digest.hexdigest()}"


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, changed: int) -> str:
    """A file's sha256; the file is read again only if its size or time has changed."""
    with open_input(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _place(torch: Any, device: str) -> str:
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "map":
        return device
    try:
        if (known := torch.device(device)).type != "meta":
            return str(known)
    except RuntimeError:
        pass
    raise CurationError(f"there is no device «{device}»", "use auto, cpu, cuda, cuda:1 …, or map")


def _revision(config: Any, name: str, revision: str) -> str:
    """The commit of the model in the hub's cache, or a folder's fingerprint."""
    if Path(name).exists():
        return fingerprint(Path(name))
    if known := getattr(config, "_commit_hash", None):  # not in every version of transformers
        return str(known)
    hub = importlib.import_module("transformers.utils.hub")
    options = {"revision": revision, "local_files_only": True}
    snapshot = Path(hub.cached_file(name, "config.json", **options)).parent  # …/snapshots/COMMIT
    return snapshot.name if _COMMIT.fullmatch(snapshot.name) else fingerprint(snapshot)


def _dtype(torch: Any, name: str, place: str) -> Any:
    if name not in DTYPES:
        raise CurationError(f"there is no dtype «{name}»", f"use one of: {', '.join(DTYPES)}")
    if name == "auto":
        return torch.float32 if place == "cpu" else "auto"
    return getattr(torch, name)


def _fetch(auto: Any, name: str, options: dict[str, Any]) -> Any:
    """Open something from disk, or else from the hub."""
    folder = Path(name)
    if folder.is_file() or (not folder.exists() and name.startswith(("/", ".", "~"))):
        problem = "is a file, not a folder" if folder.is_file() else "no such folder"
        raise CurationError(f"{name}: {problem}", "name a folder that save_pretrained has made")
    if folder.exists() and not (folder / "config.json").exists():
        raise CurationError(
            f"{name}: has no config.json", "name a folder that save_pretrained has made"
        )
    try:
        try:
            return auto.from_pretrained(name, local_files_only=True, **options)
        except OSError:
            if folder.exists():
                raise
            return auto.from_pretrained(name, **options)
    except Exception as error:  # damaged files cause all kinds of errors
        if pickles := pickle_error(name, error):
            raise pickles from None
        if "trust_remote_code" in str(error):
            raise CurationError(
                f"{name}: cannot be loaded without code that comes with it",
                "read its code; if you trust it, use --trust-remote-code",
            ) from None
        usual = isinstance(error, OSError | ValueError | ImportError | RuntimeError)
        kind = "" if usual else f"{type(error).__name__}: "
        raise CurationError(
            f"{name}: cannot be loaded: {kind}{_first_line(error)}",
            "the folder may be incomplete or damaged: save or download it again"
            if folder.exists()
            else f"there is no folder {name}, so it was read as a name on the hub: check the name; "
            "models that are not on disk need the network",
        ) from None


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
