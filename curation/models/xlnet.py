"""Run XLNet: a masked token is hidden from every position, and predicted in a second stream.

XLNet is trained without a mask token. It predicts a token by a second stream that knows its
position but not the token, while no other position sees the token either. ``perm_mask`` hides
tokens, and ``target_mapping`` selects the positions that are read. Positions are relative and
special tokens are at the end, so texts that do not see each other can share a row. Here a token is
hidden if it is the mask token.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.models.forward import Row, Runner, Text, filled, logits_at, read
from curation.models.loading import Loaded
from curation.models.tokens import end_types


class XLNetRunner(Runner):
    """XLNet, how it is run, and counts of the work so far (see ``Runner``)."""

    def __init__(self, loaded: Loaded, *, batch_tokens: int | None = None, plain: bool = False):
        self._mask_token = loaded.tokenizer.mask_token_id
        self._end_types = end_types(loaded.tokenizer)
        repair(loaded)
        super().__init__(loaded, batch_tokens=batch_tokens, plain=plain)

    def log_probs(self, texts: Sequence[Text]) -> list[Any]:
        """The log-probabilities that are read from each text; see ``Runner.log_probs``.

        A text without segment ids gets those of the tokenizer: special tokens at its end have
        another segment.
        """
        return super().log_probs([self._typed(text) for text in texts])

    def _typed(self, text: Text) -> Text:
        start = len(text.ids) - len(self._end_types)
        return text if text.types else text._replace(types=[0] * start + self._end_types)

    @torch.inference_mode()
    def _batch(self, rows: list[Row], values: NDArray[np.float64], *, packed: bool) -> None:
        targets = [sorted({place for place, _, _ in row.reads}) for row in rows]
        most = max(map(len, targets))
        if not most:
            return
        # Rows may have different numbers of targets; the surplus ones select no position.
        flat = [n * most + k for n, places in enumerate(targets) for k in range(len(places))]
        read_at = [(n, place) for n, places in enumerate(targets) for place in places]
        at = {each: number for number, each in enumerate(read_at)}
        streams = self._streams(rows, targets)
        logits = logits_at(self.loaded.model, streams, flat, narrow=self.narrow)
        asked = [
            (at[n, p], token, slot) for n, row in enumerate(rows) for p, token, slot in row.reads
        ]
        where, tokens, slots = (np.array(column) for column in zip(*asked, strict=True))
        values[slots] = read(logits, where, tokens)

    def _streams(self, rows: list[Row], targets: list[list[int]]) -> dict[str, Any]:
        length, most = max(map(len, rows)), max(map(len, targets))
        ids = filled([row.ids for row in rows], length, self.loaded.tokenizer.pad_token_id)
        types = filled([row.types for row in rows], length)
        unseen = np.ones((len(rows), length, length), dtype=bool)
        mapping = np.zeros((len(rows), most, length), dtype=bool)
        for n, row in enumerate(rows):
            size = len(row)
            unseen[n, :size, :size] = ~row.mask() | (ids[n, :size] == self._mask_token)
            mapping[n, range(len(targets[n])), targets[n]] = True
        arrays = {"input_ids": ids, "token_type_ids": types}
        masks = {"perm_mask": unseen, "target_mapping": mapping}
        device, dtype = self.loaded.device, self.loaded.model.dtype
        return {
            **{name: torch.from_numpy(array).to(device) for name, array in arrays.items()},
            **{name: torch.from_numpy(mask).to(device, dtype) for name, mask in masks.items()},
            "use_mems": False,
        }

    # --- trying out the model -------------------------------------------------------------------

    def _probes(self) -> list[Text]:
        """Texts of different lengths with one or two hidden tokens, one or both of them read."""
        tokens = len(self.loaded.tokenizer)
        rng = np.random.default_rng(0)
        texts = []
        for size, hidden, places in ((9, (4,), (4,)), (6, (1, 2), (1,)), (12, (0, 7), (7, 0))):
            ids = rng.integers(tokens, size=size).tolist()
            asked = [(place, ids[place]) for place in places]
            for place in hidden:
                ids[place] = self._mask_token
            texts.append(self._typed(Text(ids, asked)))
        return texts

    @torch.inference_mode()
    def _plainly(self, text: Text) -> Any:
        device, size = self.loaded.device, len(text.ids)
        ids = torch.tensor([list(text.ids)], device=device)
        hidden = (ids == self._mask_token).to(self.loaded.model.dtype)
        log_probs = []
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
            log_probs.append(read(logits[0], np.array([0]), np.array([token])))
        return np.concatenate(log_probs)


def repair(loaded: Loaded) -> None:
    """Work around a bug: transformers 5 cannot run XLNet in another dtype than float32.

    A part of the weights stays float32 when the model is loaded, and so do the positions if two
    streams run. Call this before anything else is done with the model; a second call does no harm.
    """
    model, body = loaded.model, loaded.model.transformer
    dtype = body.word_embedding.weight.dtype
    if any(weight.dtype != dtype for weight in model.parameters()):
        model.to(dtype)
    loaded.about["dtype"] = str(dtype).removeprefix("torch.")
    encode = type(body).relative_positional_encoding

    def relative_positional_encoding(*args: Any, **options: Any) -> Any:
        return encode(body, *args, **options).to(dtype)

    body.relative_positional_encoding = relative_positional_encoding
