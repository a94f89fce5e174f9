"""Next-sentence prediction: log p that the association follows its context, under a trained head.

Two kinds of model have one:

* **BERT's own** (BERT, MobileBERT, ERNIE, Megatron-BERT, FNet), pretrained with it: its pooler
  reads the first token; index 0 of its two logits means «next».
* **What** ``curation scores train-nsp`` **makes**, of any causal or masked model or XLNet: the
  fine-tuned body, and a head in BERT's manner (dense, tanh, two logits) over the first token of
  masked models, the last of XLNet (its ``<cls>``) or the mean of all tokens of causal ones. Index 1
  means «next»; ``head.json`` says so, and what it says is what is read.

``curation.models.pairing`` says how context and association become one text. Sources: Devlin et al.
2019 §3.1; StereoSet ACL §6 and A.5, arXiv §7 and A.4.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from curation.files import CurationError, dump_json, read_json, writing
from curation.models.causal import finite
from curation.models.forward import Runner, Tell
from curation.models.loading import Loaded, load
from curation.models.packing import Row, Text
from curation.models.pairing import frame_of, texts
from curation.models.rules import Family, Refusal, Scored, ScoringRequest
from curation.models.xlnet import repair

Pool = Literal["first", "last", "mean"]
POOLS: dict[Family, Pool] = {"masked": "first", "xlnet": "last", "causal": "mean"}
HEAD_JSON, WEIGHTS, SETTINGS = "head.json", "head.safetensors", "train-nsp.json"
_FORM = 1
_OWN_NEXT, TRAINED_NEXT = 0, 1
# How far pooled states may be off in the probe, relative to their norm: rounding, by precision.
# Measured: up to 1e-6, 2e-3, 2e-2; a wrong mask is off by 6e-2 or far more.
_NEAR_ENOUGH = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


class Head(torch.nn.Module):
    """BERT's pooler and two logits, over a text's pooled state."""

    def __init__(self, width: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(dropout)
        self.out = torch.nn.Linear(width, 2)
        for layer in (self.dense, self.out):
            torch.nn.init.normal_(layer.weight, std=0.02)
            torch.nn.init.zeros_(layer.bias)

    def forward(self, states: Any) -> Any:
        """Logits of shape (texts, 2) of states of shape (texts, width)."""
        return self.out(self.dropout(torch.tanh(self.dense(states))))


class OwnHead(torch.nn.Module):
    """The head that a model was pretrained with: pooler, then two logits."""

    def __init__(self, pooler: Any, logits: Any) -> None:
        super().__init__()
        self.pooler, self.logits = pooler, logits

    def forward(self, states: Any) -> Any:
        """Logits of shape (texts, 2) of states of shape (texts, width)."""
        return self.logits(self.pooler(states[:, None]))  # it takes a text's first token


class NextSentenceModel(torch.nn.Module):
    """A body, and a head over its pooled states; ``follows`` is the index that means «next»."""

    def __init__(self, body: Any, head: Any, *, pool: Pool, follows: int) -> None:
        super().__init__()
        self.body, self.head, self.pool, self.follows = body, head, pool, follows
        self.precision = next(head.parameters()).dtype
        self.place = next(head.parameters()).device

    @property
    def config(self) -> Any:
        """The body's configuration."""
        return self.body.config

    @property
    def base_model(self) -> Any:
        """The body."""
        return self.body

    @property
    def device(self) -> Any:
        """Where its inputs go."""
        return self.body.device

    @property
    def dtype(self) -> Any:
        """The body's precision."""
        return self.body.dtype

    def forward(self, **inputs: Any) -> Any:
        """All that layers have a part in, in one row: the body's states, logits of the first."""
        hidden = self.body(**inputs)[0]
        logits = self.head(hidden[:, 0].to(self.place, self.precision))
        return (torch.cat([hidden.flatten().to(logits), logits.flatten()]),)

    def states(self, inputs: dict[str, Any], rows: Sequence[Row]) -> Any:
        """The pooled state of each read of these rows, in order; shape (reads, width).

        A read stands at a text's first token, or at its last where the last or all are pooled.
        """
        hidden = self.body(**inputs)[0]
        length = hidden.shape[1]
        hidden = hidden.flatten(0, 1)
        if self.pool == "mean":
            weights = np.zeros((sum(len(row.reads) for row in rows), len(hidden)), np.float32)
            at = 0
            for n, row in enumerate(rows):
                mask = row.mask()
                for place, _, _ in row.reads:  # a text's last token sees exactly its text
                    seen = mask[place]
                    weights[at, n * length : n * length + len(row)] = seen / seen.sum()
                    at += 1
            share = torch.from_numpy(weights).to(hidden.device)
            pooled = share @ hidden.float()
        else:
            places = [n * length + place for n, row in enumerate(rows) for place, _, _ in row.reads]
            pooled = hidden.index_select(0, torch.tensor(places, device=hidden.device))
        return pooled.to(self.place, self.precision)


class PairRunner(Runner):
    """A next-sentence model and the way it is run."""

    @property
    def about(self) -> dict[str, Any]:
        """What a score file says of the model."""
        return self.loaded.about

    @property
    def notices(self) -> list[str]:
        """What the user should be told."""
        return self.loaded.notices

    def logits(self, rows: list[Row], *, packed: bool = False) -> Any:
        """Of each read of rows, longest first, two logits; gradients flow where they are wanted."""
        model = self.loaded.model
        return model.head(model.states(self._inputs(rows, packed=packed), rows))

    @torch.inference_mode()
    def _batch(self, rows: list[Row], values: NDArray[np.float64], *, packed: bool) -> None:
        logits = self.logits(rows, packed=packed).double()
        found = torch.log_softmax(logits, -1).cpu().numpy()
        reads = [read for row in rows for read in row.reads]
        values[[slot for _, _, slot in reads]] = found[
            range(len(reads)), [label for _, label, _ in reads]
        ]

    def _inputs(self, rows: list[Row], *, packed: bool) -> dict[str, Any]:
        if packed and self.loaded.family == "xlnet":
            return self._permuted(rows)
        inputs = self._typed(super()._inputs(rows, packed=packed), rows)
        if not packed and len({len(row) for row in rows}) == 1:
            del inputs["attention_mask"]  # nothing is hidden, and FNet does not know the word
        return inputs

    def _permuted(self, rows: list[Row]) -> dict[str, Any]:
        """XLNet has relative positions, and says who does not see whom in a mask of its own."""
        inputs = self._typed(super()._inputs(rows, packed=False), rows)
        length = inputs["input_ids"].shape[1]
        unseen = np.ones((len(rows), length, length), np.float32)
        for n, row in enumerate(rows):
            unseen[n, : len(row), : len(row)] = ~row.mask()
        del inputs["attention_mask"]
        mask = torch.from_numpy(unseen).to(self.loaded.device, self.loaded.model.dtype)
        return {**inputs, "perm_mask": mask}

    def _typed(self, inputs: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
        """With segment ids where a pair has them: tokenizers do not always tell (ALBERT, XLNet)."""
        if any(any(row.types) for row in rows):
            types = np.zeros(inputs["input_ids"].shape, np.int64)
            for n, row in enumerate(rows):
                types[n, : len(row)] = row.types
            inputs["token_type_ids"] = torch.from_numpy(types).to(self.loaded.device)
        return inputs

    # --- whether the model takes it -------------------------------------------------------------

    def _probe(self) -> None:
        texts = self._probes()
        plain = torch.cat([self._plainly(text) for text in texts])
        name = self.loaded.name
        if not self._as(texts, plain):
            self.pack = False
            self.notices.append(
                f"{name}: cannot take packed rows and is run on padded ones, slower"
            )
            if not self._as(texts, plain, slack=4):
                self.batch_tokens = 1
                self.notices.append(f"{name}: cannot take padding either; pairs are run one by one")

    def _probes(self) -> list[Text]:
        loaded = self.loaded
        draw = np.random.default_rng(0)
        frame = frame_of(loaded)
        vocabulary = loaded.model.config.get_text_config().vocab_size
        words = [draw.integers(vocabulary, size=size).tolist() for size in (4, 3, 6, 1)]
        return [frame.text(words[0], words[n], loaded.model.follows) for n in (1, 2, 3)]

    @torch.inference_mode()
    def _plainly(self, text: Text) -> Any:
        """The pooled state of one text: no mask, no packing, no padding."""
        model = self.loaded.model
        row = Row(list(text.ids), list(range(len(text.ids))), list(text.types), starts=[0])
        hidden = model.body(**self._inputs([row], packed=False))[0][0].float()
        return {"first": hidden[:1], "last": hidden[-1:], "mean": hidden.mean(0, keepdim=True)}[
            model.pool
        ]

    @torch.inference_mode()
    def _as(self, texts: Sequence[Text], plain: Any, *, slack: float = 1) -> bool:
        """Whether texts laid out have the same pooled states as alone."""
        layout = self._lay(texts, pack=self.pack)
        rows = sorted(layout.rows, key=len, reverse=True)
        try:
            inputs = self._inputs(rows, packed=layout.packed)
            states = self.loaded.model.states(inputs, rows).float()
        except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
            return False
        slots = [slot for row in rows for _, _, slot in row.reads]
        order = [slots.index(own[0]) for own in layout.slots]
        off = (states[order] - plain).norm(dim=-1) / plain.norm(dim=-1)
        allowed = _NEAR_ENOUGH[str(self.loaded.model.dtype).removeprefix("torch.")]
        return bool((off <= slack * allowed).all())


# --- scoring --------------------------------------------------------------------------------------


def score(
    runner: PairRunner, rule: str, asks: Sequence[ScoringRequest], *, tell: Tell = lambda _: None
) -> list[Scored]:
    """Natural logarithms of the probability that associations follow their contexts.

    Args:
        runner: a next-sentence model.
        rule: «nsp».
        asks: intersentence associations.
        tell: told how many rows a batch has done.

    Raises:
        CurationError: another rule, or memory ran out.
    """
    if rule != "nsp":
        raise CurationError(f"a next-sentence head does not serve «{rule}»", "take the rule «nsp»")
    loaded = runner.loaded
    made = texts(
        loaded,
        [(ask.context, ask.sentence) for ask in asks],
        labels=[loaded.model.follows] * len(asks),
        window=loaded.window,
    )
    values = iter(runner.log_probs([text for text in made if isinstance(text, Text)], tell))
    return [text if isinstance(text, Refusal) else finite(float(next(values)[0])) for text in made]


# --- opening and saving -------------------------------------------------------------------------


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
    """Open a model with a trained next-sentence head: what train-nsp made, or BERT's own.

    Args:
        name: a folder, or a name on the hub.
        device: see ``loading.load``, as for the next three.
        dtype: of the body; a trained head is always float32.
        revision: on the hub.
        trust_remote_code: run code that comes with the model.
        batch_tokens: tokens of a batch; None for what suits the device.
        plain: no packed rows and no swapped-in layers.

    Raises:
        CurationError: it is not there, or has no trained head; names what trains one.
    """
    told: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "revision": revision,
        "trust_remote_code": trust_remote_code,
    }
    folder = Path(name)
    if (folder / HEAD_JSON).exists():
        loaded = _trained(folder, told)
    elif (folder / SETTINGS).exists():
        raise CurationError(
            f"{name}: its training has not ended",
            "run the same «curation scores train-nsp» again: it goes on at the last checkpoint",
        )
    else:
        loaded = _own(name, told)
    if not plain:
        from curation.models.faster import quicken

        quicken(loaded)
    return PairRunner(loaded, batch_tokens=batch_tokens, plain=plain)


def _own(name: str, told: dict[str, Any]) -> Loaded:
    try:
        loaded = load(name, head="next-sentence", **told)
    except CurationError as error:
        if "Unrecognized configuration class" not in error.what:
            raise
        raise CurationError(
            f"{name}: models of this type have no next-sentence head of their own",
            "train one with «curation scores train-nsp», and name the folder that it makes",
        ) from None
    whole = loaded.model
    body = whole.base_model
    head = OwnHead(body.pooler, whole.cls).eval()
    model = NextSentenceModel(body, head, pool="first", follows=_OWN_NEXT)
    about = {**loaded.about, "next_sentence": {"head": "own", "next": _OWN_NEXT}}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, about)


def _trained(folder: Path, told: dict[str, Any]) -> Loaded:
    path = folder / HEAD_JSON
    says = read_json(path)
    cure = "take the folder that «curation scores train-nsp» made, whole and unchanged"
    if not isinstance(says, dict) or says.get("form") != _FORM:
        raise CurationError(f"{path}: not a head that this version can read", cure)
    for key, good in (("pool", get_args(Pool)), ("next", (0, 1)), ("family", tuple(POOLS))):
        if says.get(key) not in good:
            raise CurationError(f"{path}, field «{key}»: {says.get(key)!r} is none of {good}", cure)
    loaded = load(str(folder), head="none", family=says["family"], **told)
    if loaded.family == "xlnet":
        body = loaded.model
        whole = SimpleNamespace(transformer=body, parameters=body.parameters, to=body.to)
        repair(replace(loaded, model=whole))
    head = Head(loaded.model.config.get_text_config().hidden_size)
    try:
        head.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        line = str(error).strip().splitlines()[0]
        raise CurationError(f"{folder / WEIGHTS}: cannot be read: {line}", cure) from None
    head.eval().requires_grad_(False)
    model = NextSentenceModel(
        loaded.model, head.to(loaded.device), pool=says["pool"], follows=says["next"]
    )
    kept = {key: says[key] for key in ("pool", "next", "base") if key in says}
    about = {**loaded.about, "next_sentence": {"head": "trained", **kept}}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, about)


def save_next_sentence(folder: Path, loaded: Loaded, *, base: dict[str, Any]) -> None:
    """Write body, tokenizer and trained head; ``head.json`` last, so that it vouches for the rest.

    Args:
        folder: where to.
        loaded: a model with a ``Head``.
        base: what the body was before training: its name and revision.
    """
    model = loaded.model
    model.body.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    weights = {
        name: part.detach().cpu().contiguous() for name, part in model.head.state_dict().items()
    }
    save_file(weights, folder / WEIGHTS)
    says = {
        "form": _FORM,
        "family": loaded.family,
        "pool": model.pool,
        "next": model.follows,
        "base": base,
    }
    with writing(folder / HEAD_JSON) as file:
        file.write(dump_json(says))
