"""Run XLNet: what is masked is hidden from every position, and read in a stream of its own.

XLNet has no mask token in training: a token is predicted by a second stream that sees where it
stands and not what it is, while no other position sees it either. ``perm_mask`` hides, and
``target_mapping`` says where to read. Positions are relative and special tokens stand at the end,
so texts that do not see each other can share a row. A place is hidden where the mask token stands.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.models.forward import Runner, Tell, read
from curation.models.loading import Loaded
from curation.models.packing import Row, Text
from curation.models.tokens import surround


class PermutedRunner(Runner):
    """XLNet, the way it is run, and what that has cost so far (see ``Runner``)."""

    def __init__(self, loaded: Loaded, *, batch_tokens: int | None = None, plain: bool = False):
        self._mask_token = loaded.tokenizer.mask_token_id
        self._end_types = _end_types(loaded.tokenizer)
        repair(loaded)
        super().__init__(loaded, batch_tokens=batch_tokens, plain=plain)

    def log_probs(self, texts: Sequence[Text], tell: Tell = lambda _: None) -> list[Any]:
        """What is asked of each text; see ``Runner.log_probs``.

        A text without segments gets those that the tokenizer gives: its end is one of its own.
        """
        return super().log_probs([self._typed(text) for text in texts], tell)

    def _typed(self, text: Text) -> Text:
        start = len(text.ids) - len(self._end_types)
        return text if text.types else text._replace(types=[0] * start + self._end_types)

    @torch.inference_mode()
    def _batch(self, rows: list[Row], values: NDArray[np.float64], *, packed: bool) -> None:
        device = self.loaded.device
        targets = [sorted({place for place, _, _ in row.reads}) for row in rows]
        most = max(map(len, targets))
        if not most:
            return
        # Rows may have different numbers of targets: those that fill up point nowhere.
        flat = [n * most + k for n, places in enumerate(targets) for k in range(len(places))]
        at = {(n, place): k for n, places in enumerate(targets) for k, place in enumerate(places)}
        index = torch.tensor(flat, device=device)
        with self._narrowed(index):
            logits = self.loaded.model(**self._streams(rows, targets)).logits
        if logits.dim() == 3:  # not narrowed
            logits = logits.reshape(-1, logits.shape[-1]).index_select(0, index.to(logits.device))
        before = np.cumsum([0, *map(len, targets)])
        where, tokens, slots = (
            np.array(column)
            for column in zip(
                *(
                    (before[n] + at[n, place], token, slot)
                    for n, row in enumerate(rows)
                    for place, token, slot in row.reads
                ),
                strict=True,
            )
        )
        values[slots] = read(logits, where, tokens)

    def _streams(self, rows: list[Row], targets: list[list[int]]) -> dict[str, Any]:
        length, most = max(map(len, rows)), max(map(len, targets))
        ids = np.full((len(rows), length), self.loaded.tokenizer.pad_token_id or 0)
        types = np.zeros_like(ids)
        unseen = np.ones((len(rows), length, length), dtype=bool)
        mapping = np.zeros((len(rows), most, length), dtype=bool)
        for n, row in enumerate(rows):
            size = len(row)
            ids[n, :size], types[n, :size] = row.ids, row.types
            unseen[n, :size, :size] = ~row.mask() | (ids[n, :size] == self._mask_token)
            mapping[n, range(len(targets[n])), targets[n]] = True
        made = {"input_ids": ids, "token_type_ids": types}
        masks = {"perm_mask": unseen, "target_mapping": mapping}
        device, kind = self.loaded.device, self.loaded.model.dtype
        return {
            **{name: torch.from_numpy(array).to(device) for name, array in made.items()},
            **{name: torch.from_numpy(mask).to(device, kind) for name, mask in masks.items()},
            "use_mems": False,
        }

    # --- whether the model takes it -------------------------------------------------------------

    def _probes(self) -> list[Text]:
        """Texts of different lengths, with one hidden place or two, one or both of them read."""
        tokens = len(self.loaded.tokenizer)
        draw = np.random.default_rng(0)
        made = []
        for size, hidden, open_ in ((9, (4,), (4,)), (6, (1, 2), (1,)), (12, (0, 7), (7, 0))):
            ids = draw.integers(tokens, size=size).tolist()
            asked = [(place, ids[place]) for place in open_]
            for place in hidden:
                ids[place] = self._mask_token
            made.append(self._typed(Text(ids, asked)))
        return made

    @torch.inference_mode()
    def _plainly(self, text: Text) -> Any:
        device, size = self.loaded.device, len(text.ids)
        ids = torch.tensor([list(text.ids)], device=device)
        hidden = (ids == self._mask_token).to(self.loaded.model.dtype)
        found = []
        for place, token in text.reads:
            target = torch.zeros(1, 1, size, dtype=hidden.dtype, device=device)
            target[0, 0, place] = 1
            logits = self.loaded.model(
                input_ids=ids,
                token_type_ids=torch.tensor([list(text.types)], device=device),
                perm_mask=hidden[:, None].expand(1, size, size),
                target_mapping=target,
                use_mems=False,
            ).logits
            found.append(read(logits[0], np.array([0]), np.array([token])))
        return np.concatenate(found)


def _end_types(tokenizer: Any) -> list[int]:
    """Segments of the special tokens after a text: XLNet's <cls> is none of the text's."""
    count = len(surround(tokenizer)[1])
    types = list(tokenizer("a", return_token_type_ids=True)["token_type_ids"])
    return types[len(types) - count :]


def repair(loaded: Loaded) -> None:
    """Mend what keeps transformers 5 from running XLNet in another dtype than float32.

    A part of the weights stays float32 when they are loaded, and so do the positions where two
    streams run. To be called before anything else is done with the model; twice is no harm.
    """
    model, body = loaded.model, loaded.model.transformer
    kind = body.word_embedding.weight.dtype
    if any(weight.dtype != kind for weight in model.parameters()):
        model.to(kind)
    loaded.about["dtype"] = str(kind).removeprefix("torch.")
    make = type(body).relative_positional_encoding

    def relative_positional_encoding(*args: Any, **told: Any) -> Any:
        return make(body, *args, **told).to(kind)

    body.relative_positional_encoding = relative_positional_encoding
