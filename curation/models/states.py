"""Hidden states of words in their contexts, from any language model of transformers.

The state of a word in a text is the mean of the states of its tokens, then the mean over its
occurrences in the text (Bommasani & Liang 2022, section 4.3). The tokens of a word are those that
share a character with it, by the character spans of the fast tokenizer. Encoder-decoder models give
the states of their encoder.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models.forward import filled, halved, usual_batch
from curation.models.loading import Loaded, load, loading_options
from curation.models.tokens import Tokens, end_types, surround, tokenize

Tell = Callable[[int], None]
Floats = NDArray[np.float64]

REFUSED: dict[str, str] = {
    "no_token": "the tokenizer gives no token to the word",
    "unknown_token": "the tokenizer has only its unknown token for the word",
    "too_long": "the word alone is longer than the model's window",
    "not_finite": "the state has values that are not finite; a larger dtype may help",
}
"""Why a word in a context has no state: reason codes and their meanings."""


class Place(NamedTuple):
    """A text, and the (start, end) characters of each occurrence of one word in it."""

    text: str
    spans: tuple[tuple[int, int], ...]


class States(NamedTuple):
    """The states of words in contexts.

    Attributes:
        vectors: shape (places, width); NaN if there is no state.
        refused: the reason code for each place without a state, by its index.
    """

    vectors: Floats
    refused: dict[int, str]


@dataclass(frozen=True)
class StatesSpec:
    """A model and a layer: all that a worker needs to read states.

    Attributes:
        name, device, dtype, revision, trust_remote_code: see ``loading.Options``.
        layer: 0 for the embeddings, 1 for the first layer …; None for the last layer.
        batch_tokens: tokens in a batch; None for a size that suits the device.
    """

    name: str
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    layer: int | None = None
    batch_tokens: int | None = None


@lru_cache(maxsize=1)
def open_states(spec: StatesSpec) -> "StateReader":
    """The reader of a model; it is opened once in a process."""
    loaded = load(spec.name, head="none", **loading_options(spec))
    return StateReader(loaded, layer=spec.layer, batch_tokens=spec.batch_tokens)


@dataclass
class _Row:
    """Token ids for the model, and what is read: (occurrence, places of its tokens)."""

    ids: list[int]
    types: list[int]
    reads: list[tuple[int, list[int]]] = field(default_factory=list)


class StateReader:
    """A loaded model whose states are read at one layer.

    Attributes:
        loaded: the model, without a head.
        layers: the number of layers above the embeddings.
        layer: the layer that is read.
        width: the width of a state.
        batch_tokens: tokens in a batch.
        tokens: how many tokens the model has read, without padding.
    """

    def __init__(
        self, loaded: Loaded, *, layer: int | None = None, batch_tokens: int | None = None
    ) -> None:
        """Prepare a model.

        Args:
            loaded: the model, loaded with ``head="none"``.
            layer: see ``StatesSpec``.
            batch_tokens: see ``StatesSpec``.

        Raises:
            CurationError: the tokenizer is not a fast one, or there is no such layer.
        """
        if not loaded.tokenizer.is_fast:
            raise CurationError(
                f"{loaded.name}: its tokenizer does not say which characters its tokens cover",
                "use a model with a fast tokenizer (a folder with tokenizer.json)",
            )
        self.loaded = loaded
        self.batch_tokens = batch_tokens or usual_batch(loaded)
        self.tokens = 0
        self._body = loaded.model.get_encoder() if loaded.family == "seq2seq" else loaded.model
        if loaded.family == "xlnet":  # transformers leaves some weights in float32
            self._body.to(self._body.word_embedding.weight.dtype)
        self._accepted = set(inspect.signature(self._body.forward).parameters)
        self._before, self._after = surround(loaded.tokenizer)
        self._typed = (
            loaded.family != "causal"
            and "token_type_ids" in self._accepted
            and "token_type_ids" in loaded.tokenizer.model_input_names
        )
        self._after_types = end_types(loaded.tokenizer) if self._typed else [0] * len(self._after)
        self.layers, self.width = self._shape()
        self.layer = self.layers if layer is None else layer
        if not 0 <= self.layer <= self.layers:
            raise CurationError(
                f"{loaded.name}: has no layer {layer}",
                f"use a layer from 0 (embeddings) to {self.layers} (the last)",
            )

    def states(self, places: Sequence[Place], tell: Tell = lambda _: None) -> States:
        """The states of words in their contexts.

        Each different text is read once, however many words are asked for in it. If a text is
        longer than the model's window, it is cut around each occurrence: on both sides, or only on
        the left if the model reads from left to right.

        Args:
            places: the texts and words.
            tell: called with the number of texts, or parts of texts, in each batch.

        Raises:
            CurationError: there is not enough memory for one text.
        """
        texts = list(dict.fromkeys(place.text for place in places))
        tokens = dict(zip(texts, tokenize(self.loaded.tokenizer, texts), strict=True))
        pieces: list[tuple[str, list[int]]] = []
        of: list[list[int]] = []  # the occurrences of each place
        refused: dict[int, str] = {}
        for number, place in enumerate(places):
            found = [self._pieces(tokens[place.text], span) for span in place.spans]
            kept = [each for each in found if isinstance(each, list)]
            if not kept:
                refused[number] = next(
                    (each for each in found if isinstance(each, str)), "no_token"
                )
            of.append([*range(len(pieces), len(pieces) + len(kept))])
            pieces += [(place.text, each) for each in kept]
        occurrences = self._run(self._rows(pieces, tokens), len(pieces), tell)
        vectors = np.full((len(places), self.width), np.nan)
        for number, numbers in enumerate(of):
            if numbers:
                vectors[number] = occurrences[numbers].mean(axis=0)
                if not np.isfinite(vectors[number]).all():
                    vectors[number], refused[number] = np.nan, "not_finite"
        return States(vectors, refused)

    # --- tokens ---------------------------------------------------------------------------------

    def _pieces(self, tokens: Tokens, span: tuple[int, int]) -> list[int] | str:
        """The places of a word's tokens, or why it has no state."""
        places = tokens.touching([span])
        unknown = self.loaded.tokenizer.unk_token_id
        if not places:
            return "no_token"
        if unknown is not None and all(tokens.ids[place] == unknown for place in places):
            return "unknown_token"
        room = self._room
        if room is not None and places[-1] - places[0] + 1 > room:
            return "too_long"
        return places

    @property
    def _room(self) -> int | None:
        """The number of tokens of a text that fit into the window."""
        window = self.loaded.window
        return window and max(window - len(self._before) - len(self._after), 0)

    def _rows(
        self, pieces: Sequence[tuple[str, list[int]]], tokens: dict[str, Tokens]
    ) -> list[_Row]:
        """What the model reads: a row for each text, or for each part of it around a word."""
        room = self._room
        left = self.loaded.family == "causal"
        rows: dict[tuple[str, int], _Row] = {}
        for occurrence, (text, places) in enumerate(pieces):
            ids = tokens[text].ids
            start, end = 0, len(ids)
            if room is not None and end > room:
                start, end = _cut(places[0], places[-1] + 1, end, room, left=left)
            row = rows.get((text, start))
            if row is None:
                row = rows[text, start] = self._row(ids[start:end])
            shift = len(self._before) - start
            row.reads.append((occurrence, [place + shift for place in places]))
        if left:  # no token sees later ones, so the tokens after the last read are left out
            for row in rows.values():
                end = max(places[-1] for _, places in row.reads) + 1
                row.ids, row.types = row.ids[:end], row.types[:end]
        return list(rows.values())

    def _row(self, ids: Sequence[int]) -> _Row:
        whole = [*self._before, *ids, *self._after]
        before = len(whole) - len(self._after)
        return _Row(whole, [0] * before + self._after_types)

    # --- the model ------------------------------------------------------------------------------

    def _run(self, rows: list[_Row], count: int, tell: Tell) -> Floats:
        """The state of each occurrence, shape (occurrences, width)."""
        states = np.full((count, self.width), np.nan)
        waiting = sorted(rows, key=lambda row: len(row.ids))  # the longest come first
        while waiting:
            take = max(1, self.batch_tokens // len(waiting[-1].ids))
            batch = waiting[-take:]
            try:
                self._batch(batch, states)
            except (RuntimeError, MemoryError) as error:
                longest = len(batch[-1].ids)
                self.batch_tokens = halved(error, self.loaded, len(batch), longest)
                continue
            del waiting[-take:]
            self.tokens += sum(len(row.ids) for row in batch)
            tell(len(batch))
        return states

    @torch.inference_mode()
    def _batch(self, rows: Sequence[_Row], states: Floats) -> None:
        length = max(len(row.ids) for row in rows)
        hidden = self._forward(rows, length)
        at = [
            (n * length + place)
            for n, row in enumerate(rows)
            for _, ps in row.reads
            for place in ps
        ]
        index = torch.tensor(at, device=hidden.device)
        read = hidden.reshape(-1, hidden.shape[-1]).index_select(0, index)
        values = read.float().cpu().numpy().astype(np.float64)
        start = 0
        for row in rows:
            for occurrence, places in row.reads:
                states[occurrence] = values[start : start + len(places)].mean(axis=0)
                start += len(places)

    def _forward(self, rows: Sequence[_Row], length: int) -> Any:
        """The states of one layer, shape (rows, length, width)."""
        pad = self.loaded.tokenizer.pad_token_id
        arrays = {
            "input_ids": filled([row.ids for row in rows], length, pad),
            "attention_mask": filled([[1] * len(row.ids) for row in rows], length),
        }
        if self._typed:
            arrays["token_type_ids"] = filled([row.types for row in rows], length)
        device = self.loaded.device
        inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
        plain = {"use_cache": False, "use_mems": False, "return_dict": True}
        options = {name: value for name, value in plain.items() if name in self._accepted}
        inner = self.layer < self.layers
        result = self._body(**inputs, **options, output_hidden_states=inner)
        return result.hidden_states[self.layer] if inner else result.last_hidden_state

    @torch.inference_mode()
    def _shape(self) -> tuple[int, int]:
        """The number of layers and the width, from one short text."""
        row = self._row([self.loaded.tokenizer.convert_tokens_to_ids(["a"])[0] or 0])
        ids = torch.tensor([row.ids], device=self.loaded.device)
        options = {"use_cache": False} if "use_cache" in self._accepted else {}
        states = self._body(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            output_hidden_states=True,
            **options,
        ).hidden_states
        return len(states) - 1, int(states[-1].shape[-1])


def _cut(first: int, last: int, size: int, room: int, *, left: bool) -> tuple[int, int]:
    """Where a text of ``size`` tokens is cut so that ``room`` tokens around a word stay.

    Args:
        first: the place of the word's first token.
        last: the place after its last token.
        size: the number of the text's tokens.
        room: how many tokens may stay.
        left: keep only tokens to the left: the model does not see later ones.

    >>> _cut(10, 12, 100, 6, left=False), _cut(10, 12, 100, 6, left=True)
    ((8, 14), (6, 12))
    >>> _cut(0, 1, 100, 6, left=False), _cut(99, 100, 100, 6, left=False)
    ((0, 6), (94, 100))
    """
    spare = room - (last - first)
    start = first - (spare if left else spare // 2)
    start = max(0, min(start, size - room))
    return start, start + room
