"""Open a language model by its hub name or folder, and record exactly what was opened."""

import hashlib
import importlib
import os
import pickle
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

from curation.files import CurationError, open_input, printable
from curation.models.rules import Family
from curation.records import Fields
from curation.text.wording import amount
from curation.version import __version__


def family_of(config: Any) -> Family:
    """The family of the language model that a configuration describes.

    It follows from the model's type and the architecture that it was saved as. If these do not
    tell, it follows from the classes that transformers has for the type.

    Raises:
        CurationError: it is not a language model.
    """
    saved = " ".join(getattr(config, "architectures", None) or [])
    if config.model_type == "xlnet":
        return "xlnet"
    if getattr(config, "is_encoder_decoder", False):
        return "seq2seq"
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    if config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        # BERT and similar models, whatever head they were saved with; XLM has the field «causal».
        reads_left = getattr(config, "is_decoder", False) or getattr(config, "causal", False)
        return "causal" if reads_left else "masked"
    if "MaskedLM" in saved or "PreTraining" in saved or "NextSentence" in saved:
        return "masked"
    if "CausalLM" in saved or "LMHead" in saved:
        return "causal"
    if config.model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    raise CurationError(
        f"a model of type «{config.model_type}» is not a language model that transformers knows",
        "name a causal, masked or encoder-decoder model",
    )


def family_of_body(config: Any) -> Family:
    """The family of the model below a classifier; «masked» if that is not a language model."""
    try:
        return family_of(config)
    except CurationError:
        return "masked"


def chosen_family(config: Any, given: Family | None, name: str) -> Family:
    """The family that the user gave, or that of the configuration."""
    if given is None:
        return family_of(config)
    try:
        own = family_of(config)
    except CurationError:  # transformers does not know the type, so trust the user
        return given
    # A model that reads both ways would see the very tokens that a causal rule asks it to predict.
    if own != given and (given == "causal" or {own, given} & {"xlnet", "seq2seq"}):
        raise CurationError(
            f"{name}: is a {own} model and cannot be used as a {given} model", "leave out --family"
        )
    return given


def check_causal(family: str, name: str) -> None:
    """Check that a model can answer questions.

    Raises:
        CurationError: it is not a causal model.
    """
    if family != "causal":
        raise CurationError(
            f"{name}: is a {family} model and cannot be asked as a chat model",
            "name an instruction-tuned causal model; without chat: it is scored by its own rules",
        )


Head = Literal["lm", "next-sentence", "classes", "none"]
_CLASSES = {  # of transformers; the language modelling head depends on the family
    "none": "AutoModel",
    "next-sentence": "AutoModelForNextSentencePrediction",
    "classes": "AutoModelForSequenceClassification",
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "xlnet": "XLNetLMHeadModel",
    "seq2seq": "AutoModelForSeq2SeqLM",
}
_LACKS = {  # of a type of model for which transformers has no such class: the problem, and its fix
    "next-sentence": (
        "models of this type have no next-sentence head of their own",
        "train one with «curation scores train-nsp», and name its folder",
    ),
    "classes": (
        "models of this type cannot classify texts",
        "name a model for text classification, or train one with "
        "«curation measures train-sentiment»",
    ),
    "fresh": (
        "transformers has no text classifier for this type of model",
        "use a model such as google-bert/bert-base-cased",
    ),
}
_TRAINERS: dict[Head, str] = {  # how a missing head is trained
    "next-sentence": ", or train a head with «curation scores train-nsp»",
    "classes": ", or train one with «curation measures train-sentiment»",
}
REPORT = "training.json"  # written when a training has ended


def missing_weights(model: Any, report: Fields, *, head: Head, fresh: bool) -> list[str]:
    """The names of weights that were missing, or had another shape.

    Args:
        model: the loaded model.
        report: what transformers reports about loading it.
        head: the head that it was loaded with.
        fresh: the head is still to be trained, so only the weights below it count.
    """
    missing = {*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])}
    if fresh:
        missing = {key for key in missing if key.startswith(f"{model.base_model_prefix}.")}
    if fresh or head == "none":  # not every model has a pooling layer
        missing = {key for key in missing if "pooler" not in key}
    return sorted(missing)


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
        for name, allowed in _FIELDS.items():
            value = getattr(part, name, None)
            if value not in allowed:
                setattr(part, name, None)
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
    about: Fields
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


class Options(TypedDict, total=False):
    """How a model is found and run.

    Attributes:
        device: «auto» (a GPU if there is one, which is the default), «map» (spread over all GPUs
            and memory), or a device of torch.
        dtype: «auto», the default, is float32 on a CPU and the model's own elsewhere.
        revision: a branch, tag or commit on the hub.
        trust_remote_code: run code that comes with the model.
    """

    device: str
    dtype: str
    revision: str | None
    trust_remote_code: bool


def loading_options(spec: Any, **given: Unpack[Options]) -> Options:
    """The options of ``load`` that specs of models have under the same names, or that are given."""
    own = {name: getattr(spec, name) for name in Options.__annotations__ if name not in given}
    return cast("Options", own | given)


def _found(name: str, options: Options) -> tuple[Any, Any, Fields, str, Any]:
    """A model that is not loaded yet: transformers, config, source, device and precision."""
    torch, transformers = _torch()
    trusted = options.get("trust_remote_code", False)
    source = {"revision": options.get("revision") or "main", "trust_remote_code": trusted}
    config = _fetch(transformers.AutoConfig, name, source)
    place = _place(torch, options.get("device", "auto"))
    return transformers, config, source, place, _dtype(torch, options.get("dtype", "auto"), place)


def identity(name: str, *, family: Family | None = None, **options: Unpack[Options]) -> Fields:
    """The fields that identify a model's scores, without loading its weights.

    The arguments are those of ``load``.

    Raises:
        CurationError: the model does not exist, or is not a language model.
    """
    _, config, source, place, precision = _found(name, options)
    if precision == "auto":
        precision = getattr(config.get_text_config(), "dtype", None) or "float32"
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
    fresh: Sequence[str] = (),
    **options: Unpack[Options],
) -> Loaded:
    """Load a model and its tokenizer.

    Files on disk are used without reaching the network; only missing ones are downloaded.

    Args:
        name: a folder, or a name on the hub.
        head: «lm» for the language modelling head, «next-sentence» for BERT's own next-sentence
            head, «classes» for a classifier of texts, «none» for the body alone.
        family: the family of the model; by default as ``family_of`` says.
        fresh: names of the classes that a head is going to learn; weights that are missing, or have
            another shape, are drawn at random by torch.
        options: how it is found and run.

    Raises:
        CurationError: the model does not exist, cannot be read, or has no weights for the head.
    """
    transformers, config, source, place, precision = _found(name, options)
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
    tokenizer = _tokenizer(transformers, name, source)
    auto = getattr(transformers, _CLASSES[family if head == "lm" else head])
    how = source | {"dtype": precision, "config": config, "output_loading_info": True}
    how |= {"device_map": "auto"} if place == "map" else {}
    if fresh:
        config.id2label = dict(enumerate(fresh))  # also sets the number of classes
        config.label2id = {label: number for number, label in enumerate(fresh)}
        how["ignore_mismatched_sizes"] = True
    try:
        model, report = _fetch(auto, name, how)
    except CurationError as error:
        if head not in _LACKS or "Unrecognized configuration class" not in error.what:
            raise
        problem, fix = _LACKS["fresh" if fresh else head]
        raise CurationError(f"{name}: {problem}", fix) from None
    if missing := missing_weights(model, report, head=head, fresh=bool(fresh)):
        raise CurationError(
            f"{name}: has no trained weights for {missing[0]} "
            f"({amount(len(missing), 'weight')} missing)",
            "the model was saved without this head: name another model" + _TRAINERS.get(head, ""),
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
    source = {"revision": revision or "main", "trust_remote_code": trust_remote_code}
    return _tokenizer(_torch()[1], name, source)


def token_counter(name: str) -> Callable[[str], int]:
    """A function that counts the tokens of a text, without special tokens.

    Args:
        name: a model, as in ``load``.

    Raises:
        CurationError: the model does not exist, or has no tokenizer.
    """
    tokenizer = open_tokenizer(name)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _tokenizer(transformers: Any, name: str, source: Fields) -> Any:
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


def _fetch(auto: Any, name: str, options: Fields) -> Any:
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
