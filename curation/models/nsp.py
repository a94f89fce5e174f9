"""Next-sentence prediction: log p that the association follows its context, under a trained head.

There are two kinds of heads:

* **BERT's own** (BERT, MobileBERT, ERNIE, Megatron-BERT, FNet), from pretraining. Its pooler reads
  the first token. Index 0 of its two logits means «next».
* **Heads trained by** ``curation scores train-nsp`` for a causal model, a masked model or XLNet.
  The body is fine-tuned, and the head is like BERT's (dense, tanh, two logits). It reads the first
  token of masked models, the last token of XLNet (its ``<cls>``), or the mean over all tokens of
  causal models. Index 1 means «next». ``head.json`` contains all this and is read when the head is
  opened.

``curation.models.nsp`` opens and saves them; ``curation.models.nsp`` joins context and
association into one text. Sources: Devlin et al. 2019 §3.1; StereoSet ACL §6 and A.5, arXiv §7 and
A.4.
"""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, Unpack, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from curation.files import CurationError, read_json
from curation.models.causal import finite
from curation.models.forward import Row, Runner, Text, filled
from curation.models.loading import REPORT, Loaded, Options, load
from curation.models.rules import Family, Refusal, Scored, ScoringRequest
from curation.models.tokens import Tokens, surround, tokenize
from curation.models.xlnet import repair
from curation.records import Fields
from curation.work.run_folder import read_identity, write_json


class Frame(NamedTuple):
    """The special tokens around two texts.

    Attributes:
        before: tokens before the first text.
        between: tokens between the texts.
        after: tokens after the second text.
        types: segment ids of these tokens; empty if the model has no segments.
        of: the segment ids of the two texts.
        first: whether the label is read at the first token; else at the last.
    """

    before: list[int]
    between: list[int]
    after: list[int]
    types: tuple[int, ...] = ()
    of: tuple[int, int] = (0, 0)
    first: bool = False

    @property
    def size(self) -> int:
        """The number of these tokens."""
        return len(self.before) + len(self.between) + len(self.after)

    def text(self, first: Sequence[int], second: Sequence[int], label: int) -> Text:
        """Two texts in this frame, with a label to be read."""
        parts = (self.before, first, self.between, second, self.after)
        ids = [token for part in parts for token in part]
        types: list[int] = []
        if self.types:
            start, stop = len(self.before), len(self.before) + len(self.between)
            types = [*self.types[:start], *(self.of[0] for _ in first)]
            types += [*self.types[start:stop], *(self.of[1] for _ in second), *self.types[stop:]]
        return Text(ids, [(0 if self.first else len(ids) - 1, label)], types)


def frame_of(loaded: Loaded) -> Frame:
    """The special tokens with which a model's tokenizer joins two texts; none for causal models.

    Raises:
        CurationError: the tokenizer has no token for the letters that are tried.
    """
    tokenizer = loaded.tokenizer
    if loaded.family == "causal":
        before, after = surround(tokenizer)
        return Frame(before, [], after)
    options = {"return_special_tokens_mask": True, "return_token_type_ids": True}
    for letter in ("a", "1", "."):
        encoded = tokenizer(letter, letter, **options)
        ids = list(encoded["input_ids"])
        words = [n for n, special in enumerate(encoded["special_tokens_mask"]) if not special]
        if len(words) < 2:
            continue
        # Both texts are the same, so half of these tokens belong to the first.
        first, end = words[0], words[len(words) // 2 - 1] + 1
        second, last = words[len(words) // 2], words[-1] + 1
        segments = list(encoded["token_type_ids"])
        types = (*segments[:first], *segments[end:second], *segments[last:])
        of = (int(segments[first]), int(segments[second]))
        known = _has_segments(loaded.model, (*types, *of))
        return Frame(
            ids[:first],
            ids[end:second],
            ids[last:],
            types if known else (),
            of if known else (0, 0),
            first=loaded.family == "masked",
        )
    raise CurationError(
        f"{loaded.name}: its tokenizer has no token for «a»", "check the tokenizer's files"
    )


def _has_segments(model: Any, types: Sequence[int]) -> bool:
    """Whether a model has these segments: not all tokenizers say so (ALBERT, XLNet)."""
    most = getattr(model.config, "type_vocab_size", None)
    takes = "token_type_ids" in inspect.signature(model.base_model.forward).parameters
    return takes and any(types) and (most is None or max(types) < most)


def texts(
    loaded: Loaded,
    pairs: Sequence[tuple[str, str]],
    *,
    labels: Sequence[int],
    window: int | None,
    shorten: bool = False,
) -> list[Text | Refusal]:
    """The texts that a model reads for pairs of sentences.

    Args:
        loaded: a next-sentence model.
        pairs: first and second sentences.
        labels: the label to be read for each pair.
        window: the largest number of tokens; None for no limit. If a pair is longer, the first
            sentence loses tokens at its left; at least one remains.
        shorten: if that is not enough, the second sentence loses tokens at its right; otherwise the
            pair is refused.
    """
    frame, window = frame_of(loaded), window or 10**9
    joined: list[Text | Refusal] = []
    for (first, second), label in zip(_tokens(loaded, pairs), labels, strict=True):
        room = window - frame.size - 1
        if not first or not second:
            joined.append(Refusal("nothing_to_score", "context or association has no token"))
        elif len(second) > room and not shorten:
            size = frame.size + len(first) + len(second)
            joined.append(Refusal("too_long", f"{size} tokens, the window is {window}"))
        else:
            kept = second[: max(room, 1)]
            over = max(len(first) - (window - frame.size - len(kept)), 0)
            joined.append(frame.text(first[over:], kept, label))
    return joined


def _tokens(loaded: Loaded, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
    """The tokens of both sentences, as they are in the joined text."""
    if loaded.family != "causal":
        known = tokenize(
            loaded.tokenizer, unique := list(dict.fromkeys(s for p in pairs for s in p))
        )
        of = dict(zip(unique, known, strict=True))
        return [(of[first].ids, of[second].ids) for first, second in pairs]
    wholes = tokenize(loaded.tokenizer, [f"{first} {second}" for first, second in pairs])
    return [_split(whole, *pair) for whole, pair in zip(wholes, pairs, strict=True)]


def _split(whole: Tokens, first: str, second: str) -> tuple[list[int], list[int]]:
    """The tokens of a joined text, split where the second sentence and its space begin."""
    if not second.strip():
        return whole.ids, []
    end = len(first) + 1 + len(second)
    at = min(whole.touching([(len(first.rstrip()), end)]), default=len(whole.ids))
    return whole.ids[:at], whole.ids[at:]


Pool = Literal["first", "last", "mean"]
POOLS: dict[Family, Pool] = {"masked": "first", "xlnet": "last", "causal": "mean"}
# By how much rounding may change pooled states, relative to their norm, by precision.
# Measured: up to 1e-6, 2e-3 and 2e-2; a wrong mask changes them by 6e-2 or far more.
_TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


class Head(torch.nn.Module):
    """A head like BERT's: a pooler and two logits, over the pooled state of a text."""

    def __init__(self, width: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(dropout)
        self.out = torch.nn.Linear(width, 2)
        for layer in (self.dense, self.out):
            torch.nn.init.normal_(layer.weight, std=0.02)
            torch.nn.init.zeros_(layer.bias)

    def forward(self, states: Any) -> Any:
        """Logits of shape (texts, 2), from states of shape (texts, width)."""
        return self.out(self.dropout(torch.tanh(self.dense(states))))


class OwnHead(torch.nn.Module):
    """The head that a model was pretrained with: a pooler, then two logits."""

    def __init__(self, pooler: Any, logits: Any) -> None:
        super().__init__()
        self.pooler, self.logits = pooler, logits

    def forward(self, states: Any) -> Any:
        """Logits of shape (texts, 2), from states of shape (texts, width)."""
        return self.logits(self.pooler(states[:, None]))  # the pooler reads the first token


class NextSentenceModel(torch.nn.Module):
    """A body and a head over its pooled states.

    Attributes:
        body: the model without a head.
        head: the head.
        pool: the token that the head reads, or «mean» for the mean over all tokens.
        follows: the index of the logit that means «next».
        precision: the dtype of the head.
        place: the device of the head.
    """

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
        """The device of its inputs."""
        return self.body.device

    @property
    def dtype(self) -> Any:
        """The body's precision."""
        return self.body.dtype

    def forward(self, **inputs: Any) -> Any:
        """The body's states and the logits of the first token, in one row.

        ``faster.quicken`` compares this output before and after it replaces layers.
        """
        hidden = self.body(**inputs)[0]
        logits = self.head(hidden[:, 0].to(self.place, self.precision))
        return (torch.cat([hidden.flatten().to(logits), logits.flatten()]),)

    def states(self, inputs: Fields, rows: Sequence[Row]) -> Any:
        """The pooled state for each read of these rows, in order; shape (reads, width).

        The place of a read is the first token of a text if ``pool`` is «first», else the last.
        """
        hidden = self.body(**inputs)[0]
        length = hidden.shape[1]
        hidden = hidden.flatten(0, 1)
        if self.pool == "mean":
            weights = np.zeros((sum(len(row.reads) for row in rows), len(hidden)), np.float32)
            at = 0
            for n, row in enumerate(rows):
                mask = row.mask()
                for place, _, _ in row.reads:  # the last token of a text sees exactly this text
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
    """A next-sentence model, and how it is run."""

    def logits(self, rows: list[Row], *, packed: bool = False) -> Any:
        """Logits for each read, with gradients if torch records them; shape (reads, 2).

        Args:
            rows: the longest first.
            packed: rows may hold several texts that do not see each other.
        """
        model = self.loaded.model
        return model.head(model.states(self._inputs(rows, packed=packed), rows))

    @torch.inference_mode()
    def _batch(self, rows: list[Row], values: NDArray[np.float64], *, packed: bool) -> None:
        logits = self.logits(rows, packed=packed).double()
        log_probs = torch.log_softmax(logits, -1).cpu().numpy()
        reads = [read for row in rows for read in row.reads]
        values[[slot for _, _, slot in reads]] = log_probs[
            range(len(reads)), [label for _, label, _ in reads]
        ]

    def _inputs(self, rows: list[Row], *, packed: bool) -> Fields:
        if packed and self.loaded.family == "xlnet":
            return self._xlnet_inputs(rows)
        inputs = self._typed(super()._inputs(rows, packed=packed), rows)
        if not packed and len({len(row) for row in rows}) == 1:
            del inputs["attention_mask"]  # nothing is hidden, and FNet does not accept a mask
        return inputs

    def _xlnet_inputs(self, rows: list[Row]) -> Fields:
        """Inputs of packed rows for XLNet: positions are relative, ``perm_mask`` hides tokens."""
        inputs = self._typed(super()._inputs(rows, packed=False), rows)
        length = inputs["input_ids"].shape[1]
        unseen = np.ones((len(rows), length, length), np.float32)
        for n, row in enumerate(rows):
            unseen[n, : len(row), : len(row)] = ~row.mask()
        del inputs["attention_mask"]
        mask = torch.from_numpy(unseen).to(self.loaded.device, self.loaded.model.dtype)
        return {**inputs, "perm_mask": mask}

    def _typed(self, inputs: Fields, rows: list[Row]) -> Fields:
        """Add segment ids if a row has them: not all tokenizers list them (ALBERT, XLNet)."""
        if any(any(row.types) for row in rows):
            types = filled([row.types for row in rows], inputs["input_ids"].shape[1])
            inputs["token_type_ids"] = torch.from_numpy(types).to(self.loaded.device)
        return inputs

    # --- trying out the model -------------------------------------------------------------------

    def _probe(self) -> None:
        texts = self._probes()
        plain = torch.cat([self._plainly(text) for text in texts])
        name = self.loaded.name
        if not self._agrees_with(texts, plain):
            self.pack = False
            self.loaded.notices.append(
                f"{name}: cannot read packed rows; it reads padded ones, slower"
            )
            if not self._agrees_with(texts, plain, slack=4):
                self.batch_tokens = 1
                self.loaded.notices.append(
                    f"{name}: cannot read padding either; it reads pairs one by one"
                )

    def _probes(self) -> list[Text]:
        loaded = self.loaded
        rng = np.random.default_rng(0)
        frame = frame_of(loaded)
        vocabulary = loaded.model.config.get_text_config().vocab_size
        words = [rng.integers(vocabulary, size=size).tolist() for size in (4, 3, 6, 1)]
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
    def _agrees_with(self, texts: Sequence[Text], plain: Any, *, slack: float = 1) -> bool:
        """Whether texts have the same pooled states in rows as alone, up to rounding."""
        layout = self._layout(texts, pack=self.pack)
        rows = sorted(layout.rows, key=len, reverse=True)
        try:
            inputs = self._inputs(rows, packed=layout.packed)
            states = self.loaded.model.states(inputs, rows).float()
        except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
            return False
        slots = [slot for row in rows for _, _, slot in row.reads]
        order = [slots.index(own[0]) for own in layout.slots]
        alone = plain.to(states.device)  # a head may lie on another device than its model
        errors = (states[order] - alone).norm(dim=-1) / alone.norm(dim=-1)
        allowed = _TOLERANCE[str(self.loaded.model.dtype).removeprefix("torch.")]
        return bool((errors <= slack * allowed).all())


def score(runner: PairRunner, rule: str, requests: Sequence[ScoringRequest]) -> list[Scored]:
    """Natural logarithms of the probability that associations follow their contexts.

    Args:
        runner: a next-sentence model.
        rule: «nsp».
        requests: intersentence associations.

    Raises:
        CurationError: the rule is another one, or memory ran out.
    """
    if rule != "nsp":
        raise CurationError(
            f"a next-sentence head cannot compute the rule «{rule}»", "use the rule «nsp»"
        )
    loaded = runner.loaded
    joined = texts(
        loaded,
        [(request.context, request.sentence) for request in requests],
        labels=[loaded.model.follows] * len(requests),
        window=loaded.window,
    )
    values = iter(runner.log_probs([text for text in joined if isinstance(text, Text)]))
    return [
        text if isinstance(text, Refusal) else finite(float(next(values)[0])) for text in joined
    ]


HEAD_JSON, WEIGHTS, SETTINGS = "head.json", "head.safetensors", "train-nsp.json"
OWN_NEXT, TRAINED_NEXT = 0, 1  # the index of the logit that means «next»
_FORM = 1  # the version of head.json
_TRAINING = (
    "corpus", "pairs_an_epoch", "articles_held_out", "epochs", "length", "batch", "optimizer", "lr",
    "warmup_steps", "freeze", "seed",
)  # fmt: skip
_WHOLE = "use the folder that «curation scores train-nsp» made, complete and unchanged"


def load_next_sentence(
    name: str,
    *,
    batch_tokens: int | None = None,
    plain: bool = False,
    **options: Unpack[Options],
) -> PairRunner:
    """Open a model with a trained next-sentence head: one from train-nsp, or BERT's own.

    Args:
        name: a folder, or a name on the hub.
        batch_tokens: tokens in a batch; None for a size that suits the device.
        plain: use no packed rows and no faster layers.
        options: how the model is found and run. A head from train-nsp is always float32.

    Raises:
        CurationError: the model does not exist, or has no trained head; the error says how to train
            one.
    """
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


def _own(name: str, options: Options) -> Loaded:
    loaded = load(name, head="next-sentence", **options)
    whole = loaded.model
    body = whole.base_model
    head = OwnHead(body.pooler, whole.cls).eval()
    model = NextSentenceModel(body, head, pool="first", follows=OWN_NEXT)
    about = {**loaded.about, "next_sentence": {"head": "own", "next": OWN_NEXT}}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, about)


def _trained(folder: Path, options: Options) -> Loaded:
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
    kept: Fields = {key: about[key] for key in ("pool", "next", "base") if key in about}
    opened: Fields = {**loaded.about, "next_sentence": {"head": "trained", **kept}}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, opened)


def _read_head(path: Path) -> Fields:
    """The content of ``head.json``, checked."""
    about = read_json(path)
    if not isinstance(about, dict) or about.get("form") != _FORM:
        raise CurationError(f"{path}: is not a head that this version can read", _WHOLE)
    for key, values in (("pool", get_args(Pool)), ("next", (0, 1)), ("family", tuple(POOLS))):
        if about.get(key) not in values:
            raise CurationError(
                f"{path}, field «{key}»: {about.get(key)!r} is not one of {values}", _WHOLE
            )
    return about


def training_of(folder: Path) -> Fields | None:
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


def save_next_sentence(folder: Path, loaded: Loaded, *, base: Fields) -> None:
    """Write body, tokenizer and trained head. ``head.json`` is last: it shows that all is there.

    Args:
        folder: the folder to write to.
        loaded: a model with a ``Head``.
        base: the name and revision of the model before training.
    """
    model = loaded.model
    model.body.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    state: Fields = model.head.state_dict()
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
