"""Run a model over packed texts, and read log-probabilities at the positions that are needed.

Packed rows go through transformers' own forward pass with a 4-D mask and position ids. A hook
before the model's output layer projects the vocabulary only at the positions that are read. Before
a model is used, a short probe compares this with the plain way (one text, no hook, no mask of
ours). If the results differ, the plain way is used, and the user gets a notice.
"""

import copy
import gc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models.loading import Loaded, position_offset
from curation.records import Fields

ROW = 128  # tokens: longer rows need more attention, shorter ones share and pack less


class Text(NamedTuple):
    """Token ids, (position, token) pairs to read, and segment ids if there are two segments."""

    ids: Sequence[int]
    reads: Sequence[tuple[int, int]]
    types: Sequence[int] = ()


@dataclass
class Row:
    """One row for a model.

    Attributes:
        ids: token ids.
        positions: the position of each token in its text.
        types: segment ids.
        parents: the place of the token before each token, −1 for none; None if the row is not a
            tree.
        starts: the places where texts begin that do not see each other.
        reads: (place in the row, token, slot of the result) for each probability to be read.
    """

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    parents: list[int] | None = None
    starts: list[int] = field(default_factory=list)
    reads: list[tuple[int, int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def mask(self) -> NDArray[np.bool_]:
        """Which token (first axis) sees which token (second axis); shape (tokens, tokens)."""
        size = len(self.ids)
        sees = np.zeros((size, size), dtype=bool)
        if self.parents is None:
            for start, end in zip(self.starts, [*self.starts[1:], size], strict=True):
                sees[start:end, start:end] = True
            return sees
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                sees[place, : parent + 1] = sees[parent, : parent + 1]
            sees[place, place] = True
        return sees


@dataclass
class Layout:
    """Rows, and for each text the slots of its reads, in their order."""

    rows: list[Row]
    slots: list[list[int]]
    packed: bool

    @property
    def size(self) -> int:
        """The number of slots."""
        return sum(len(row.reads) for row in self.rows)


def tries(texts: Sequence[Text], *, row: int = ROW) -> Layout:
    """Pack texts as prefix trees; texts that begin alike share a row of about ``row`` tokens.

    The last token of a text is left out if nothing is read there.
    """
    order = sorted(range(len(texts)), key=lambda n: list(texts[n].ids))
    rows: list[Row] = []
    slots: list[list[int]] = [[] for _ in texts]
    count = 0
    current, below, known = Row(parents=[]), [dict[int, int]()], dict[tuple[int, int], int]()
    for n in order:
        text = texts[n]
        needed = max((place for place, _ in text.reads), default=-1) + 1
        node = shared = 0
        while shared < needed and text.ids[shared] in below[node]:
            node = below[node][text.ids[shared]]
            shared += 1
        if len(current) and len(current) + needed - shared > row:
            rows.append(current)
            current, below, known = Row(parents=[]), [{}], {}
        path, node = [], 0  # nodes are numbered from 1; 0 is the root
        for depth in range(needed):
            token = text.ids[depth]
            if token not in below[node]:
                assert current.parents is not None
                current.ids.append(token)
                current.positions.append(depth)
                current.parents.append(node - 1)
                below[node][token] = len(current.ids)
                below.append({})
            node = below[node][token]
            path.append(node - 1)
        for place, token in text.reads:
            key = (path[place], token)
            if key not in known:
                known[key] = count
                current.reads.append((*key, count))
                count += 1
            slots[n].append(known[key])
    if len(current):
        rows.append(current)
    return Layout(rows, slots, packed=True)


def blocks(texts: Sequence[Text], *, row: int = ROW) -> Layout:
    """Pack texts side by side in rows of about ``row`` tokens; equal texts are packed once."""
    unique, reads, slots = _once(texts)
    rows: list[Row] = []
    room: dict[int, list[int]] = defaultdict(list)  # rows by the number of tokens that still fit
    for n in sorted(range(len(unique)), key=lambda n: -len(unique[n].ids)):
        ids = unique[n].ids
        fits = [left for left in room if left >= len(ids) and room[left]]
        if fits:
            left = min(fits)
            place = room[left].pop()
        else:
            left, place = max(row, len(ids)), len(rows)
            rows.append(Row())
        room[left - len(ids)].append(place)
        _add(rows[place], unique[n], reads[n])
    return Layout(rows, slots, packed=True)


def padded(texts: Sequence[Text], *, ahead: bool = False) -> Layout:
    """Make a row of each text; equal texts share a row.

    With ``ahead``, no token sees later ones, so the tokens after the last read are left out.
    """
    if ahead:
        ends = [max((place for place, _ in text.reads), default=0) + 1 for text in texts]
        texts = [t._replace(ids=t.ids[:end]) for t, end in zip(texts, ends, strict=True)]
    unique, reads, slots = _once(texts)
    rows = []
    for text, asked in zip(unique, reads, strict=True):
        row = Row()
        _add(row, text, asked)
        rows.append(row)
    return Layout(rows, slots, packed=False)


def _add(row: Row, text: Text, asked: dict[tuple[int, int], int]) -> None:
    start = len(row)
    row.starts.append(start)
    row.ids += text.ids
    row.positions += range(len(text.ids))
    row.types += text.types or [0] * len(text.ids)
    row.reads += [(start + place, token, slot) for (place, token), slot in asked.items()]


def _once(
    texts: Sequence[Text],
) -> tuple[list[Text], list[dict[tuple[int, int], int]], list[list[int]]]:
    """The different texts, their reads with slots, and the slots of each of ``texts``."""
    unique: list[Text] = []
    reads: list[dict[tuple[int, int], int]] = []
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    slots = []
    count = 0
    for text in texts:
        key = (tuple(text.ids), tuple(text.types))
        if key not in seen:
            seen[key] = len(unique)
            unique.append(text)
            reads.append({})
        asked = reads[seen[key]]
        for read in text.reads:
            if read not in asked:
                asked[read] = count
                count += 1
        slots.append([asked[read] for read in text.reads])
    return unique, reads, slots


def batches(rows: Sequence[Row], *, tokens: int) -> Iterator[list[Row]]:
    """Batches of rows of similar length, longest first, of ``tokens`` tokens with padding."""
    ordered = sorted(rows, key=len, reverse=True)
    while ordered:
        take = max(1, tokens // max(len(ordered[0]), 1))
        yield ordered[:take]
        ordered = ordered[take:]


BATCH_TOKENS = {"cpu": 512}  # larger batches do not fit into the caches
GPU_BATCH_TOKENS = 16_384
_VALUES = 1 << 28  # logits in memory at once: 1 GiB of float32
_CHUNK = 1 << 21  # logits normalised at once: they fit into a processor's cache
LIKELIEST, ITS_LOG = -1, -2
"""Read in place of a token: the id of the likeliest token, and its log-probability."""
_TWIN = 8  # layers of the small test model; types of layers alternate within this many
_TWINS: dict[tuple[type, str], bool] = {}
_PADDED = "it cannot read packed rows, so it reads padded ones"
_SAME = "scores are the same, but slower"


class Runner:
    """A loaded model, how it is run, and counts of the work so far.

    Attributes:
        loaded: the model.
        batch_tokens: tokens in a batch.
        pack: whether rows hold several texts.
        narrow: whether the vocabulary is projected only at the positions that are read.
        tokens: how many tokens the model has read, without padding.
    """

    def __init__(self, loaded: Loaded, *, batch_tokens: int | None = None, plain: bool = False):
        self.loaded = loaded
        self.batch_tokens = batch_tokens or usual_batch(loaded)
        self.pack = self.narrow = not plain
        self.offset = position_offset(loaded.model)
        self.tokens = 0
        self._left = loaded.family == "causal"
        config = loaded.model.config.get_text_config()
        windows = [getattr(config, name, None) for name in ("sliding_window", "local_attention")]
        self._near = min((w // 2 for w in windows if isinstance(w, int) and w > 0), default=None)
        if not plain:
            self._probe()

    def log_probs(self, texts: Sequence[Text]) -> list[Any]:
        """The log-probabilities that are read from each text.

        Args:
            texts: the tokens of each text, and what to read.

        Returns:
            For each text, an array of natural log-probabilities in the order of its reads.

        Raises:
            CurationError: there is not enough memory for one text.
        """
        # Local attention goes by the distance in the row, so long texts are not packed.
        far = [self._near is not None and len(text.ids) > self._near for text in texts]
        log_probs: list[Any] = [None] * len(texts)
        for apart in (False, True):
            indices = [n for n, is_far in enumerate(far) if is_far is apart]
            layout = self._layout([texts[n] for n in indices], pack=self.pack and not apart)
            values = self._run(layout)
            for n, slots in zip(indices, layout.slots, strict=True):
                log_probs[n] = values[slots]
        return log_probs

    def _layout(self, texts: Sequence[Text], *, pack: bool) -> Layout:
        if not pack:
            return padded(texts, ahead=self._left)
        return tries(texts) if self._left else blocks(texts)

    def _run(self, layout: Layout) -> NDArray[np.float64]:
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
                self.batch_tokens = halved(error, self.loaded, len(rows), len(rows[0]))
                waiting = self._batches([row for part in (*waiting, rows) for row in part])
                continue
            self.tokens += sum(map(len, rows))
        return values

    def _batches(self, rows: Sequence[Row]) -> list[list[Row]]:
        """The batches in reverse order, so that the next is at the end."""
        return list(batches(rows, tokens=self.batch_tokens))[::-1]

    @torch.inference_mode()
    def _batch(self, rows: list[Row], values: NDArray[np.float64], *, packed: bool) -> None:
        length = len(rows[0])
        flat = sorted({p + n * length for n, row in enumerate(rows) for p, _, _ in row.reads})
        at = {place: n for n, place in enumerate(flat)}
        asked = [
            (at[n * length + place], token, slot)
            for n, row in enumerate(rows)
            for place, token, slot in row.reads
        ]
        if not asked:
            return
        inputs = self._inputs(rows, packed=packed)
        logits = logits_at(self.loaded.model, inputs, flat, narrow=self.narrow)
        where, tokens, slots = (np.array(column) for column in zip(*asked, strict=True))
        values[slots] = read(logits, where, tokens)

    def _inputs(self, rows: list[Row], *, packed: bool) -> Fields:
        length, device = len(rows[0]), self.loaded.device
        ids = filled([row.ids for row in rows], length, self.loaded.tokenizer.pad_token_id)
        inputs: Fields = {"input_ids": torch.from_numpy(ids).to(device)}
        if packed:
            inputs["attention_mask"] = self._mask(rows, length)
            positions = filled([row.positions for row in rows], length) + self.offset
            inputs["position_ids"] = torch.from_numpy(positions).to(device)
        else:
            seen = filled([[1] * len(row) for row in rows], length)
            inputs["attention_mask"] = torch.from_numpy(seen).to(device)
        if self._left:
            inputs["use_cache"] = False
        elif "token_type_ids" in self.loaded.tokenizer.model_input_names:
            types = filled([row.types for row in rows], length)
            inputs["token_type_ids"] = torch.from_numpy(types).to(device)
        return inputs

    def _mask(self, rows: list[Row], length: int) -> Any:
        mask = np.zeros((len(rows), 1, length, length), dtype=bool)
        # Padding sees itself, or its row would be empty.
        mask[:, 0, range(length), range(length)] = True
        for n, row in enumerate(rows):
            mask[n, 0, : len(row), : len(row)] = row.mask()
        sees = torch.from_numpy(mask).to(self.loaded.device)
        if self.loaded.model.config._attn_implementation != "eager":
            return sees
        dtype = self.loaded.model.dtype
        return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill_(
            ~sees, torch.finfo(dtype).min
        )

    # --- trying out the model -------------------------------------------------------------------

    def _probe(self) -> None:
        """Compare each mechanism with the plain way on a few texts; turn off what differs."""
        texts = self._probes()
        if self.pack and not packs_as_built(self.loaded):
            self.pack = False
            self.loaded.notices.append(f"{self.loaded.name}: {_PADDED}; {_SAME}")
        plain = [self._plainly(text) for text in texts]
        for name, message in (
            ("pack", _PADDED),
            ("narrow", "its vocabulary is projected at every position"),
        ):
            if self._agrees(texts, plain):
                break
            if not getattr(self, name):
                continue
            setattr(self, name, False)
            self.loaded.notices.append(f"{self.loaded.name}: {message}; {_SAME}")
        if not (self.pack and self.narrow) and not self._agrees(texts, plain):
            self.batch_tokens = 1
            self.loaded.notices.append(f"{self.loaded.name}: texts are run one at a time")
        self.tokens = 0

    def _probes(self) -> list[Text]:
        tokens = len(self.loaded.tokenizer)
        rng = np.random.default_rng(0)
        start = rng.integers(tokens, size=5).tolist()
        ends = [rng.integers(tokens, size=size).tolist() for size in (3, 6, 1)]
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
        layout = self._layout(texts, pack=self.pack)
        try:
            values = self._run(layout)
        except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
            return False
        computed = np.concatenate([values[slots] for slots in layout.slots])
        expected = np.concatenate(plain)
        eps = float(torch.finfo(self.loaded.model.dtype).eps)
        # Rounding errors grow with depth; a wrong mask or position causes far larger ones.
        allowed = 64 * eps * max(1.0, float(np.abs(expected).max()))
        return bool(np.abs(computed - expected).max() <= allowed)


def packs_as_built(loaded: Loaded) -> bool:
    """Whether a model's architecture can read packed rows.

    In 16 bits, rounding could hide that it cannot. So a few layers of the same architecture with
    random weights are tried in float32.
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
    except Exception:  # if no small model can be built, the plain way is used
        return False
    return Runner(replace(loaded, model=twin, notices=[])).pack


def filled(rows: Sequence[Sequence[int]], length: int, with_: int | None = 0) -> NDArray[np.int64]:
    """Rows of numbers as an array of this length, filled at their ends."""
    array = np.full((len(rows), length), with_ or 0)
    for n, row in enumerate(rows):
        array[n, : len(row)] = row
    return array


def logits_at(model: Any, inputs: Fields, places: Sequence[int], *, narrow: bool = True) -> Any:
    """A model's logits at some places.

    Args:
        model: the model.
        inputs: its arguments.
        places: places in the rows of the output, one row after the other.
        narrow: let only these places reach the output layer, if it is known.

    Returns:
        Logits of shape (places, vocabulary).
    """
    index = torch.tensor(places, device=model.device)

    def chosen(_: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        states = args[0]
        return (states.flatten(0, -2).index_select(0, index.to(states.device)), *args[1:])

    layer = model.get_output_embeddings() if narrow else None
    hook = None if layer is None else layer.register_forward_pre_hook(chosen)
    try:
        logits = model(**inputs).logits
    finally:
        if hook:
            hook.remove()
    if logits.dim() == 3:  # not narrowed
        logits = logits.reshape(-1, logits.shape[-1]).index_select(0, index.to(logits.device))
    return logits


def read(logits: Any, where: NDArray[Any], tokens: NDArray[Any]) -> NDArray[np.float64]:
    """Log-probabilities of tokens.

    Args:
        logits: shape (rows, vocabulary).
        where: the row of each token.
        tokens: token ids, ``LIKELIEST`` or ``ITS_LOG``.

    Returns:
        Natural log-probabilities, one for each token; for ``LIKELIEST`` a token id.
    """
    step = max(1, _CHUNK // logits.shape[-1])
    norms = torch.cat([torch.logsumexp(part.float(), -1) for part in logits.split(step)])
    at = torch.from_numpy(where).to(logits.device)
    ids = torch.from_numpy(np.maximum(tokens, 0)).to(logits.device)
    picked = logits[at, ids].float()
    if (tokens < 0).any():
        likeliest = logits.argmax(-1)[at]
        asked = torch.from_numpy(tokens).to(logits.device)
        best = logits[at, likeliest].float()
        picked = torch.where(asked == ITS_LOG, best, picked)
        values = torch.where(asked == LIKELIEST, likeliest.double(), (picked - norms[at]).double())
    else:
        values = (picked - norms[at]).double()
    return np.asarray(values.cpu().numpy(), float)


def usual_batch(loaded: Loaded) -> int:
    """How many tokens a batch has on the model's device."""
    return BATCH_TOKENS.get(str(loaded.device).partition(":")[0], GPU_BATCH_TOKENS)


def halved(
    error: Exception,
    loaded: Loaded,
    texts: int,
    longest: int,
    *,
    most: int = 10**9,
    fix: str = "use a smaller --dtype, or --device map to spread the model",
) -> int:
    """How many tokens a batch has from now on, if one was too large for the memory.

    Args:
        error: what the batch raised.
        loaded: the model, which gets a notice.
        texts: how many texts the batch had.
        longest: tokens of the longest of them.
        most: tokens of a batch until now, if the batch may have had more.
        fix: what to do if it had one text only.

    Raises:
        CurationError: the batch had one text only.
        Exception: the error, if it is another one.
    """
    if not out_of_memory(error):
        raise error
    if texts == 1:
        what = f"{loaded.name}: not enough memory for one text of {longest} tokens"
        raise CurationError(what, fix) from None
    free_memory()
    tokens = max(1, min(most, texts * longest) // 2)
    loaded.notices.append(f"out of memory: using batches of {tokens} tokens now")
    return tokens


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on a GPU or in main memory."""
    message = str(error).lower()
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        part in message for part in ("out of memory", "can't allocate memory", "not enough memory")
    )


def free_memory() -> None:
    """Release memory that a failed batch still holds."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
