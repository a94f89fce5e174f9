"""Open a language model by its hub name or folder, and say exactly what was opened."""

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
from curation.files import CurationError
from curation.models.heads import TRAINERS, Head, class_of, missing_weights
from curation.models.rules import Family

DTYPES = ("auto", "float32", "bfloat16", "float16")
_PACKAGES = ("torch", "transformers", "tokenizers")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NO_LIMIT = 10**9  # tokenizers without a limit state a huge one
_LEARNT_POSITIONS = ("n_positions", "max_position_embeddings", "n_ctx", "max_seq_len")


@dataclass
class Loaded:
    """A model that can be run.

    ``about`` is what a score file says of it; ``notices`` is what the user should be told.
    """

    name: str
    family: Family
    model: Any
    tokenizer: Any
    about: dict[str, Any]
    notices: list[str] = field(default_factory=list)

    @property
    def device(self) -> Any:
        """Where its inputs go."""
        return self.model.device

    @property
    def window(self) -> int | None:
        """The most tokens that it reads at once; None where there is no such limit."""
        config = self.model.config.get_text_config()
        learnt = [getattr(config, name, None) for name in _LEARNT_POSITIONS]
        if self.family == "xlnet":  # positions are relative
            learnt = []
        offset = position_offset(self.model)
        limits = [n - offset for n in learnt if isinstance(n, int) and n > 0]
        stated = getattr(self.tokenizer, "model_max_length", None)
        if isinstance(stated, int) and 0 < stated < _NO_LIMIT:
            limits.append(stated)
        return min(limits, default=None)


def position_offset(model: Any) -> int:
    """The position of the first token: models in RoBERTa's manner count from beyond padding."""
    embeddings: Any = getattr(getattr(model, "base_model", None), "embeddings", None)
    module = sys.modules.get(type(embeddings).__module__)
    counts = [
        hasattr(owner, "create_position_ids_from_input_ids") for owner in (embeddings, module)
    ]
    known = getattr(embeddings, "padding_idx", None) is not None
    return int(embeddings.padding_idx) + 1 if any(counts) and known else 0


def _torch() -> tuple[Any, Any]:
    os.environ.setdefault(
        "HF_HUB_DISABLE_TELEMETRY", "1"
    )  # it asks the hub who calls, even offline
    try:
        torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
    except ImportError as error:
        raise CurationError(
            f"models cannot be run: {error}", "pip install 'curation[models]'"
        ) from None
    transformers.utils.logging.disable_progress_bar()  # the bars are ours
    transformers.utils.logging.set_verbosity_error()
    return torch, transformers


def family_of(config: Any) -> Family:
    """What sort of language model a configuration describes.

    By whether it reads both ways and the architecture it was saved as; where that does not tell, by
    what transformers can build of it.

    Raises:
        CurationError: it is no language model.
    """
    saved = " ".join(getattr(config, "architectures", None) or [])
    if config.model_type == "xlnet":
        return "xlnet"
    if getattr(config, "is_encoder_decoder", False):
        return "seq2seq"
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    if config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        # BERT and its like, whatever head they were saved with; XLM says it by «causal».
        reads_left = getattr(config, "is_decoder", False) or getattr(config, "causal", False)
        return "causal" if reads_left else "masked"
    if "MaskedLM" in saved or "PreTraining" in saved or "NextSentence" in saved:
        return "masked"
    if "CausalLM" in saved or "LMHead" in saved:
        return "causal"
    if config.model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    raise CurationError(
        f"a model of type «{config.model_type}» is no language model that transformers knows",
        "name a causal, masked or encoder-decoder model",
    )


def _sort_of_body(config: Any) -> Family:
    """What a classifier is built on; of one that is no language model it does not matter."""
    try:
        return family_of(config)
    except CurationError:
        return "masked"


def _family(config: Any, wanted: Family | None, name: str) -> Family:
    """The family asked for, else that of the configuration."""
    if wanted is None:
        return family_of(config)
    try:
        own = family_of(config)
    except CurationError:  # a type that transformers does not know: who asks for it does
        return wanted
    # What reads both ways would see the very tokens that a causal rule asks it to predict.
    if own != wanted and (wanted == "causal" or {own, wanted} & {"xlnet", "seq2seq"}):
        raise CurationError(
            f"{name}: is a {own} model and cannot be taken as a {wanted} one", "leave --family out"
        )
    return wanted


def identity(
    name: str,
    *,
    family: Family | None = None,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> dict[str, Any]:
    """What tells a model's scores from others', known without loading its weights.

    Raises:
        CurationError: it is not there, or is no language model.
    """
    torch, transformers = _torch()
    told: dict[str, Any] = {"revision": revision or "main", "trust_remote_code": trust_remote_code}
    config = _fetch(transformers.AutoConfig, name, told)
    place = _place(torch, device)
    kind = _dtype(torch, dtype, place)
    if kind == "auto":
        kind = getattr(config.get_text_config(), "dtype", None) or torch.float32
    return {
        "model": called(name),
        "family": _family(config, family, name),
        "revision": _revision(config, name, told["revision"]),
        "dtype": str(kind).removeprefix("torch."),
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

    What lies on disk is used without asking the network; only what is not there is fetched.

    Args:
        name: a folder, or a name on the hub.
        head: «lm» for the language modelling head, «next-sentence» for BERT's own next-sentence
            head, «classes» for one that tells classes of texts, «none» for the body alone.
        family: how to take the model; without it as ``family_of`` says.
        device: «auto» (a GPU if there is one), «map» (spread over all GPUs and memory), or a
            device of torch.
        dtype: «auto» is float32 on a CPU and the model's own elsewhere.
        revision: a branch, tag or commit on the hub.
        trust_remote_code: run code that comes with the model.
        fresh: names of the classes that a head is to learn; what weights it lacks, or has in
            another shape, are drawn from torch's random numbers.

    Raises:
        CurationError: it is not there, cannot be read, or lacks the head's weights.
    """
    torch, transformers = _torch()
    told: dict[str, Any] = {"revision": revision or "main", "trust_remote_code": trust_remote_code}
    config = _fetch(transformers.AutoConfig, name, told)
    if head == "lm" and (Path(name) / "head.json").exists():
        raise CurationError(
            f"{name}: was trained to tell next sentences and no longer predicts words",
            "take it for the rule nsp: as MODEL of --rule nsp, or with --nsp beside another MODEL",
        )
    family = _family(config, family, name) if head != "classes" else _sort_of_body(config)
    place = _place(torch, device)
    kind = _dtype(torch, dtype, place)
    tokenizer = _tokenizer(transformers, name, told)
    auto = class_of(transformers, head, family)
    spread: dict[str, Any] = {"device_map": "auto"} if place == "map" else {}
    if fresh:
        config.id2label = dict(enumerate(fresh))  # says how many there are, too
        config.label2id = {label: number for number, label in enumerate(fresh)}
        spread["ignore_mismatched_sizes"] = True
    model, report = _fetch(
        auto, name, {**told, **spread, "dtype": kind, "config": config, "output_loading_info": True}
    )
    if missing := missing_weights(model, report, head=head, fresh=bool(fresh)):
        raise CurationError(
            f"{name}: has no trained weights for {missing[0]} ({len(missing)} such)",
            "it was saved without this head: name another model" + TRAINERS[head],
        )
    try:
        model = model.eval() if place == "map" else model.eval().to(place)
    except (RuntimeError, AssertionError) as error:
        raise CurationError(
            f"{name}: cannot be put on {place}: {_first_line(error)}", "take another --device"
        ) from None
    model.requires_grad_(False)
    about = {
        "model": called(name),
        "family": family,
        "architecture": type(model).__name__,
        "revision": _revision(config, name, told["revision"]),
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device) if place != "map" else "map",
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "tokenizer": type(tokenizer).__name__,
        "vocabulary": len(tokenizer),
        "versions": versions(),
    }
    return Loaded(called(name), family, model, tokenizer, about)


def open_tokenizer(
    name: str, *, revision: str | None = None, trust_remote_code: bool = False
) -> Any:
    """A model's tokenizer; arguments as ``load``'s.

    Raises:
        CurationError: there is no such model, or it has no tokenizer.
    """
    _, transformers = _torch()
    told = {"revision": revision or "main", "trust_remote_code": trust_remote_code}
    return _tokenizer(transformers, name, told)


def token_counter(name: str) -> Callable[[str], int]:
    """What counts the tokens that a model's tokenizer makes of a text, special ones left out.

    Raises:
        CurationError: there is no such model, or it has no tokenizer.
    """
    tokenizer = open_tokenizer(name)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _tokenizer(transformers: Any, name: str, told: dict[str, Any]) -> Any:
    tokenizer = _fetch(transformers.AutoTokenizer, name, told)
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # what is made where no file says more
        raise CurationError(
            f"{name}: has no tokenizer", "save the tokenizer into the same folder: save_pretrained"
        )
    return tokenizer


def called(name: str) -> str:
    """What a model is called: its name on the hub, or its folder's own name.

    >>> called("bakery/small-model")
    'bakery/small-model'
    """
    return Path(name).resolve().name if Path(name).exists() else name


def versions() -> dict[str, str]:
    """Of everything that a score may depend on."""
    found = {name: str(importlib.import_module(name).__version__) for name in _PACKAGES}
    return {"curation": __version__, **found}


def fingerprint(folder: Path) -> str:
    """What tells a folder's weights and tokenizer from others: sha256 of names and contents.

    All of each file is read, since fine-tuned weights may differ in a few layers only. Folders
    below, hidden files and notes do not count: no model is loaded from them.

    Raises:
        CurationError: a file may not be read.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(p for p in folder.iterdir() if p.is_file()):
            if path.name.startswith(".") or path.suffix == ".md":
                continue
            stat = path.stat()
            found = _digest(path.resolve(), stat.st_size, stat.st_mtime_ns)
            digest.update(f"{path.name}\0{found}\0".encode())
    except OSError as error:
        raise CurationError(
            f"{error.filename}: cannot be read: {error.strerror}", "give yourself the right to read"
        ) from None
    return f"sha256:{digest.hexdigest()}"


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, changed: int) -> str:
    """A file's sha256; read once as long as it stays as it is."""
    with path.open("rb") as file:
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
    raise CurationError(f"no device «{device}»", "take auto, cpu, cuda, cuda:1 …, or map")


def _revision(config: Any, name: str, revision: str) -> str:
    """The commit of what the hub's client keeps on disk, or a folder's fingerprint."""
    if Path(name).exists():
        return fingerprint(Path(name))
    if known := getattr(config, "_commit_hash", None):  # not every version of transformers says it
        return str(known)
    hub = importlib.import_module("transformers.utils.hub")
    told = {"revision": revision, "local_files_only": True}
    snapshot = Path(hub.cached_file(name, "config.json", **told)).parent  # …/snapshots/COMMIT
    return snapshot.name if _COMMIT.fullmatch(snapshot.name) else fingerprint(snapshot)


def _dtype(torch: Any, name: str, place: str) -> Any:
    if name not in DTYPES:
        raise CurationError(f"no dtype «{name}»", f"take one of {', '.join(DTYPES)}")
    if name == "auto":
        return torch.float32 if place == "cpu" else "auto"
    return getattr(torch, name)


def _fetch(auto: Any, name: str, told: dict[str, Any]) -> Any:
    """From disk, else from the hub."""
    folder = Path(name)
    if folder.is_file() or (not folder.exists() and name.startswith(("/", ".", "~"))):
        what = "a file, not a folder" if folder.is_file() else "no such folder"
        raise CurationError(f"{name}: {what}", "name a folder that save_pretrained has made")
    if folder.exists() and not (folder / "config.json").exists():
        raise CurationError(
            f"{name}: a folder without config.json", "name a folder that save_pretrained has made"
        )
    try:
        try:
            return auto.from_pretrained(name, local_files_only=True, **told)
        except OSError:
            if folder.exists():
                raise
            return auto.from_pretrained(name, **told)
    except Exception as error:  # what files that are not as they should be bring about
        usual = isinstance(error, OSError | ValueError | ImportError | RuntimeError)
        kind = "" if usual else f"{type(error).__name__}: "
        raise CurationError(
            f"{name}: cannot be loaded: {kind}{_first_line(error)}",
            "the folder may not be whole, or damaged: save or fetch it again"
            if folder.exists()
            else f"there is no folder {name}, so it was taken for a name on the hub: check the "
            "name; what is not on disk needs the network",
        ) from None


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
