"""Open and save models with a next-sentence head (see ``curation.models.nsp``)."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from curation.files import CurationError, read_json
from curation.models.heads import REPORT
from curation.models.loading import Loaded, load
from curation.models.nsp import POOLS, Head, NextSentenceModel, OwnHead, PairRunner, Pool
from curation.models.rules import family_named
from curation.models.xlnet import repair
from curation.work.run_folder import read_identity, write_json

HEAD_JSON, WEIGHTS, SETTINGS = "head.json", "head.safetensors", "train-nsp.json"
OWN_NEXT, TRAINED_NEXT = 0, 1  # the index of the logit that means «next»
_FORM = 1  # the version of head.json
_TRAINING = (
    *("corpus", "pairs_an_epoch", "articles_held_out", "epochs", "length", "batch"),
    *("optimizer", "lr", "warmup_steps", "freeze", "seed"),
)
_WHOLE = "use the folder that «curation scores train-nsp» made, complete and unchanged"


def load_next_sentence(
    name: str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
    batch_tokens: int | None = None,
    plain: bool = False,
) -> PairRunner:
    """Open a model with a trained next-sentence head: one from train-nsp, or BERT's own.

    Args:
        name: a folder, or a name on the hub.
        device: see ``loading.load``, as for the next three.
        dtype: the precision of the body; a head from train-nsp is always float32.
        revision: a branch, tag or commit on the hub.
        trust_remote_code: run code that comes with the model.
        batch_tokens: tokens in a batch; None for a size that suits the device.
        plain: use no packed rows and no faster layers.

    Raises:
        CurationError: the model does not exist, or has no trained head; the error says how to train
            one.
    """
    options: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "revision": revision,
        "trust_remote_code": trust_remote_code,
    }
    folder = Path(name)
    if (folder / HEAD_JSON).exists():
        loaded = _trained(folder, options)
    elif (folder / SETTINGS).exists():
        raise CurationError(
            f"{name}: its training has not ended",
            "run the same «curation scores train-nsp» again: it continues from the last checkpoint",
        )
    else:
        loaded = _own(name, options)
    if not plain:
        from curation.models.faster import quicken

        quicken(loaded)
    return PairRunner(loaded, batch_tokens=batch_tokens, plain=plain)


def _own(name: str, options: dict[str, Any]) -> Loaded:
    try:
        loaded = load(name, head="next-sentence", **options)
    except CurationError as error:
        if "Unrecognized configuration class" not in error.what:
            raise
        raise CurationError(
            f"{name}: models of this type have no next-sentence head of their own",
            "train one with «curation scores train-nsp», and name its folder",
        ) from None
    whole = loaded.model
    body = whole.base_model
    head = OwnHead(body.pooler, whole.cls).eval()
    model = NextSentenceModel(body, head, pool="first", follows=OWN_NEXT)
    about = {**loaded.about, "next_sentence": {"head": "own", "next": OWN_NEXT}}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, about)


def _trained(folder: Path, options: dict[str, Any]) -> Loaded:
    path = folder / HEAD_JSON
    about = _read_head(path)
    loaded = load(str(folder), head="none", family=about["family"], **options)
    if loaded.family == "xlnet":
        body = loaded.model
        whole = SimpleNamespace(transformer=body, parameters=body.parameters, to=body.to)
        repair(replace(loaded, model=whole))
    head = Head(loaded.model.config.get_text_config().hidden_size)
    try:
        head.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        line = str(error).strip().splitlines()[0]
        raise CurationError(f"{folder / WEIGHTS}: cannot be read: {line}", _WHOLE) from None
    head.eval().requires_grad_(False)
    model = NextSentenceModel(
        loaded.model, head.to(loaded.device), pool=about["pool"], follows=about["next"]
    )
    kept: dict[str, Any] = {key: about[key] for key in ("pool", "next", "base") if key in about}
    opened: dict[str, Any] = {**loaded.about, "next_sentence": {"head": "trained", **kept}}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, opened)


def _read_head(path: Path) -> dict[str, Any]:
    """The content of ``head.json``, checked."""
    about = read_json(path)
    if not isinstance(about, dict) or about.get("form") != _FORM:
        raise CurationError(f"{path}: is not a head that this version can read", _WHOLE)
    if isinstance(about.get("family"), str):
        about["family"] = family_named(about["family"])
    for key, values in (("pool", get_args(Pool)), ("next", (0, 1)), ("family", tuple(POOLS))):
        if about.get(key) not in values:
            raise CurationError(
                f"{path}, field «{key}»: {about.get(key)!r} is not one of {values}", _WHOLE
            )
    return about


def training_of(folder: Path) -> dict[str, Any] | None:
    """How the head in a folder was trained: all that can change it, apart from the model.

    Settings count by their effect: ``held_out``, ``test_pairs`` and ``limit`` as numbers of
    held-out articles and of pairs. What changes rounding only is not there (device, precision,
    ``accumulate``, versions): the paper, too, trained GPT-2 large alone in mixed precision and in
    parts (ACL A.5).

    Returns:
        None if the folder has no trained head, or no record of its training.

    Raises:
        CurationError: a file is damaged.
    """
    begun, report = (read_identity(folder / name) for name in (SETTINGS, REPORT))
    if not begun or not report:
        return None
    known = {"optimizer": "adamw", **report, **begun, **(begun.get("settings") or {})}
    return {name: known.get(name) for name in _TRAINING}


def save_next_sentence(folder: Path, loaded: Loaded, *, base: dict[str, Any]) -> None:
    """Write body, tokenizer and trained head. ``head.json`` is last: it shows that all is there.

    Args:
        folder: the folder to write to.
        loaded: a model with a ``Head``.
        base: the name and revision of the model before training.
    """
    model = loaded.model
    model.body.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    state: dict[str, Any] = model.head.state_dict()
    weights = {name: weight.detach().cpu().contiguous() for name, weight in state.items()}
    save_file(weights, folder / WEIGHTS)
    about = {
        "form": _FORM,
        "family": loaded.family,
        "pool": model.pool,
        "next": model.follows,
        "base": base,
    }
    write_json(folder / HEAD_JSON, about)
