"""Run a model over laid-out texts and read log-probabilities where they are asked for.

Packed rows go through transformers' own forward pass with a 4-D mask and position ids, and the
vocabulary is projected only where something is read, by a hook before the model's output layer. A
short probe compares that with the plain way (one text, no hook, no mask of ours) and falls back,
with a notice, where a model cannot take it.
"""

import copy
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models.loading import Loaded, position_offset
from curation.models.packing import Layout, Row, Text, batches, blocks, padded, tries

BATCH_TOKENS = {"cpu": 512}  # more spills out of the caches
GPU_BATCH_TOKENS = 16_384
_VALUES = 1 << 28  # logits held at once: 1 GiB of float32
_CHUNK = 1 << 21  # logits normalised at once: small enough for a processor's cache
Tell = Callable[[int], None]
_TWIN = 8  # layers of the small model that is tried; sorts of layers alternate within so many
_TWINS: dict[tuple[type, str], bool] = {}
_PADDED = "it cannot take packed rows and is run on padded ones"
_SAME = "scores are the same, slower"


class Runner:
    """A loaded model, the way it is run, and what that has cost so far.

    ``tokens`` and ``reads`` count the tokens that went in, padding left out, and the positions at
    which the vocabulary was projected.
    """

    def __init__(self, loaded: Loaded, *, batch_tokens: int | None = None, plain: bool = False):
        self.loaded = loaded
        kind = str(loaded.device).partition(":")[0]
        self.batch_tokens = batch_tokens or BATCH_TOKENS.get(kind, GPU_BATCH_TOKENS)
        self.pack = self.narrow = not plain
        self.offset = position_offset(loaded.model)
        self.tokens = self.reads = 0
        self._rows: Any = None
        self._left = loaded.family == "causal"
        config = loaded.model.config.get_text_config()
        windows = [getattr(config, name, None) for name in ("sliding_window", "local_attention")]
        self._near = min((w // 2 for w in windows if isinstance(w, int) and w > 0), default=None)
        if not plain:
            self._probe()

    def log_probs(self, texts: Sequence[Text], tell: Tell = lambda _: None) -> list[Any]:
        """What is asked of each text.

        Args:
            texts: tokens and what to read of each.
            tell: told how many rows a batch has done.

        Returns:
            Of each text, an array of natural log-probabilities in the order of its reads.
        """
        # Where attention is local, packing by distance in the row would not be the same.
        far = [self._near is not None and len(text.ids) > self._near for text in texts]
        found: list[Any] = [None] * len(texts)
        for apart in (False, True):
            those = [n for n, is_far in enumerate(far) if is_far is apart]
            layout = self._lay([texts[n] for n in those], pack=self.pack and not apart)
            values = self._run(layout, tell)
            for n, slots in zip(those, layout.slots, strict=True):
                found[n] = values[slots]
        return found

    def _lay(self, texts: Sequence[Text], *, pack: bool) -> Layout:
        if not pack:
            return padded(texts, ahead=self._left)
        return tries(texts) if self._left else blocks(texts)

    def _run(self, layout: Layout, tell: Tell) -> NDArray[np.float64]:
        values = np.full(layout.size, np.nan)
        waiting = self._batches(layout.rows)
        vocabulary = self.loaded.model.config.get_text_config().vocab_size
        most = max(1, _VALUES // vocabulary)
        while waiting:
            rows = waiting.pop()
            reads = sum(len({place for place, _, _ in row.reads}) for row in rows)
            cells = reads if self.narrow else len(rows) * len(rows[0])
            if len(rows) > 1 and cells > most:
                waiting += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
                continue
            try:
                self._batch(rows, values, packed=layout.packed)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if len(rows) == 1:
                    raise CurationError(
                        f"{self.loaded.name}: no memory for one text of {len(rows[0])} tokens",
                        "take a smaller --dtype, or --device map to spread the model",
                    ) from None
                free_memory()
                self._halve(len(rows[0]) * len(rows))
                waiting = self._batches([row for part in (*waiting, rows) for row in part])
                continue
            self.tokens += sum(map(len, rows))
            self.reads += reads
            tell(len(rows))
        return values

    def _batches(self, rows: Sequence[Row]) -> list[list[Row]]:
        """What is to be run, the next at the end."""
        return list(batches(rows, tokens=self.batch_tokens))[::-1]

    def _halve(self, tokens: int) -> None:
        self.batch_tokens = max(1, tokens // 2)
        self.loaded.notices.append(f"out of memory: batches of {self.batch_tokens} tokens from now")

    @torch.inference_mode()
    def _batch(self, rows: list[Row], values: NDArray[np.float64], *, packed: bool) -> None:
        length, device = len(rows[0]), self.loaded.device
        places = [
            sorted({place + n * length for place, _, _ in row.reads}) for n, row in enumerate(rows)
        ]
        flat = [place for row in places for place in row]
        at = {place: n for n, place in enumerate(flat)}
        asked = [
            (at[n * length + place], token, slot)
            for n, row in enumerate(rows)
            for place, token, slot in row.reads
        ]
        if not asked:
            return
        index = torch.tensor(flat, device=device)
        with self._narrowed(index):
            logits = self.loaded.model(**self._inputs(rows, packed=packed)).logits
        if logits.dim() == 3:  # not narrowed
            logits = logits.reshape(-1, logits.shape[-1]).index_select(0, index.to(logits.device))
        where, tokens, slots = (np.array(column) for column in zip(*asked, strict=True))
        values[slots] = read(logits, where, tokens)

    def _inputs(self, rows: list[Row], *, packed: bool) -> dict[str, Any]:
        length, device = len(rows[0]), self.loaded.device
        pad = self.loaded.tokenizer.pad_token_id or 0
        ids = np.full((len(rows), length), pad)
        types, positions = np.zeros_like(ids), np.zeros_like(ids)
        for n, row in enumerate(rows):
            ids[n, : len(row)] = row.ids
            types[n, : len(row.types)] = row.types
            positions[n, : len(row)] = row.positions
        inputs: dict[str, Any] = {"input_ids": torch.from_numpy(ids).to(device)}
        if packed:
            inputs["attention_mask"] = self._mask(rows, length)
            inputs["position_ids"] = torch.from_numpy(positions + self.offset).to(device)
        else:
            seen = np.arange(length)[None] < np.array([len(row) for row in rows])[:, None]
            inputs["attention_mask"] = torch.from_numpy(seen.astype(np.int64)).to(device)
        if self._left:
            inputs["use_cache"] = False
        elif "token_type_ids" in self.loaded.tokenizer.model_input_names:
            inputs["token_type_ids"] = torch.from_numpy(types).to(device)
        return inputs

    def _mask(self, rows: list[Row], length: int) -> Any:
        mask = np.zeros((len(rows), 1, length, length), dtype=bool)
        mask[:, 0, range(length), range(length)] = True  # padding sees itself: no row of nothing
        for n, row in enumerate(rows):
            mask[n, 0, : len(row), : len(row)] = row.mask()
        sees = torch.from_numpy(mask).to(self.loaded.device)
        if self.loaded.model.config._attn_implementation != "eager":
            return sees
        kind = self.loaded.model.dtype
        return torch.zeros(sees.shape, dtype=kind, device=sees.device).masked_fill_(
            ~sees, torch.finfo(kind).min
        )

    @contextmanager
    def _narrowed(self, index: Any) -> Iterator[None]:
        """Only these positions reach the output layer, flattened to (positions, width)."""
        layer = self.loaded.model.get_output_embeddings() if self.narrow else None
        if layer is None:
            yield
            return
        hook = layer.register_forward_pre_hook(
            lambda _, args: (args[0].flatten(0, -2).index_select(0, index.to(args[0].device)),)
        )
        try:
            yield
        finally:
            hook.remove()

    # --- whether the model takes it -------------------------------------------------------------

    def _probe(self) -> None:
        """Try each mechanism on a few texts beside the plain way; leave off what differs."""
        texts = self._probes()
        if self.pack and not packs_as_built(self.loaded):
            self.pack = False
            self.loaded.notices.append(f"{self.loaded.name}: {_PADDED}; {_SAME}")
        plain = [self._plainly(text) for text in texts]
        for name, says in (
            ("pack", _PADDED),
            ("narrow", "its vocabulary is projected everywhere"),
        ):
            if self._agrees(texts, plain):
                break
            if not getattr(self, name):
                continue
            setattr(self, name, False)
            self.loaded.notices.append(f"{self.loaded.name}: {says}; {_SAME}")
        if not (self.pack and self.narrow) and not self._agrees(texts, plain):
            self.batch_tokens = 1
            self.loaded.notices.append(f"{self.loaded.name}: texts are run one at a time")
        self.tokens = self.reads = 0

    def _probes(self) -> list[Text]:
        tokens = len(self.loaded.tokenizer)
        draw = np.random.default_rng(0)
        start = draw.integers(tokens, size=5).tolist()
        ends = [draw.integers(tokens, size=size).tolist() for size in (3, 6, 1)]
        return [
            Text(ids, [(place, ids[place]) for place in range(len(ids))])
            for ids in (start + end for end in ends)
        ]

    @torch.inference_mode()
    def _plainly(self, text: Text) -> Any:
        ids = torch.tensor([list(text.ids)], device=self.loaded.device)
        logits = self.loaded.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
        where, tokens = (np.array(column) for column in zip(*text.reads, strict=True))
        return read(logits, where, tokens)

    def _agrees(self, texts: Sequence[Text], plain: Sequence[Any]) -> bool:
        layout = self._lay(texts, pack=self.pack)
        try:
            values = self._run(layout, lambda _: None)
        except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
            return False
        found = np.concatenate([values[slots] for slots in layout.slots])
        wanted = np.concatenate(plain)
        eps = float(torch.finfo(self.loaded.model.dtype).eps)
        # Rounding grows with depth; a wrong mask or position is off by far more.
        allowed = 64 * eps * max(1.0, float(np.abs(wanted).max()))
        return bool(np.abs(found - wanted).max() <= allowed)


def packs_as_built(loaded: Loaded) -> bool:
    """Whether a model's build takes packed rows; in 16 bits rounding would hide that it does not.

    So a few layers of the same build, with random weights, are tried in float32.
    """
    model = loaded.model
    if model.dtype == torch.float32 or loaded.family not in ("causal", "masked"):
        return True
    key = (type(model), model.config.to_json_string())
    if key not in _TWINS:
        _TWINS[key] = _twin_packs(loaded)
    return _TWINS[key]


def _twin_packs(loaded: Loaded) -> bool:
    config = copy.deepcopy(loaded.model.config)
    for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
        if isinstance(getattr(config, name, None), int):
            setattr(config, name, min(getattr(config, name), _TWIN))
    if isinstance(getattr(config, "layer_types", None), list):
        config.layer_types = config.layer_types[:_TWIN]
    config.dtype = torch.float32
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            twin = type(loaded.model)(config).float().eval().to(loaded.device)
    except Exception:  # what cannot be built small is run plainly
        return False
    return Runner(replace(loaded, model=twin, notices=[])).pack


def read(logits: Any, where: NDArray[Any], tokens: NDArray[Any]) -> NDArray[np.float64]:
    """Log-probabilities of tokens at rows of logits of shape (rows, vocabulary)."""
    step = max(1, _CHUNK // logits.shape[-1])
    norms = torch.cat([torch.logsumexp(part.float(), -1) for part in logits.split(step)])
    at = torch.from_numpy(where).to(logits.device)
    picked = logits[at, torch.from_numpy(tokens).to(logits.device)].float()
    found: NDArray[np.float64] = (picked - norms[at]).double().cpu().numpy()
    return found


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on a GPU or here."""
    says = str(error).lower()
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        part in says for part in ("out of memory", "can't allocate memory", "not enough memory")
    )


def free_memory() -> None:
    """Give back what a failed batch still holds."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
