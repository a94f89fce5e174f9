"""The sentiment of texts, by any classifier that transformers opens.

StereoSet classifies its sentences by a BERT that was fine-tuned on reviews (ACL §4.4, A.2). Here
any classifier does: by two classes (negative, positive), by three (with neutral) or by one to five
stars. A text's classes are told by the softmax of the model's outputs;
classes of one sentiment are added up.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models import loading
from curation.models.forward import BATCH_TOKENS, GPU_BATCH_TOKENS, free_memory, out_of_memory
from curation.models.loading import Loaded
from curation.models.sentiments import THREE, Sort, read_classes
from curation.models.train.folder import REPORT

SETTINGS = "train-sentiment.json"
Encoded = Mapping[str, Sequence[int]]
Tell = Callable[[int], None]
_EXAMPLES = ("a", "one two three", "the bread is good and the weather is fine today")
# How far logits in a padded batch may be off from those alone: rounding, by precision.
_NEAR_ENOUGH = {"float64": 1e-4, "float32": 1e-4, "float16": 2e-2}
_COARSEST = 1e-1  # bfloat16's, and whatever else there may be
_NOTHING = re.compile(r"(?!)")
_PARTS = 20_000  # texts whose tokens are held at once


class Sentiment(NamedTuple):
    """How likely a text is negative, neutral or positive; the three add up to 1."""

    negative: float
    neutral: float
    positive: float


@dataclass
class Classifier:
    """A model that tells classes of texts, and how it is run.

    Attributes:
        loaded: the model, its tokenizer, and what is to be said of it.
        classes: what each output means.
        window: the most tokens that it is given; None for as many as there are.
        batch_tokens: tokens of a batch, padding counted.
        alone: it cannot take texts side by side.
        seen: how many texts it has been given so far.
        truncated: how many of these have been cut off at their right.
    """

    loaded: Loaded
    classes: tuple[Sort, ...]
    window: int | None
    batch_tokens: int
    alone: bool = False
    seen: int = 0
    truncated: int = 0
    _takes: frozenset[str] = field(default_factory=frozenset)
    _reserved: re.Pattern[str] = _NOTHING

    @property
    def about(self) -> dict[str, Any]:
        """What tells its results from others': model, revision, dtype, device, versions."""
        said = {key: value for key, value in self.loaded.about.items() if key != "family"}
        return {**said, "window": self.window, "classes": list(self.classes)}

    @property
    def notices(self) -> list[str]:
        """What the user should be told."""
        if not self.truncated:
            return self.loaded.notices
        cut = (
            f"{self.loaded.name}: {self.truncated} of {self.seen} texts have more than "
            f"{self.window} tokens and were read without their ends"
        )
        return [*self.loaded.notices, cut]

    # --- running --------------------------------------------------------------------------------

    def encode(self, texts: Sequence[str], *, first: int = 1) -> list[Encoded]:
        """Texts as the model reads them, cut off at the right where they are too long.

        Raises:
            CurationError: a text has no token; says which, the first having the number ``first``.
        """
        made = self._tokens(texts)
        self.seen += len(texts)
        for n, (text, one) in enumerate(zip(texts, made, strict=True), first):
            if not text.strip() or not one["input_ids"]:
                raise CurationError(f"text {n}: has nothing to read", "leave empty texts out")
        if self.window is None:
            return made
        long = [n for n, one in enumerate(made) if len(one["input_ids"]) > self.window]
        if long:
            told = {"truncation": True, "max_length": self.window}
            for n, one in zip(long, self._tokens([texts[n] for n in long], **told), strict=True):
                made[n] = one
            self.truncated += len(long)
        return made

    def _tokens(self, texts: Sequence[str], **told: Any) -> list[Encoded]:
        if not texts:
            return []
        tokenizer = self.loaded.tokenizer
        tokenizer.truncation_side = "right"
        # «</s>» in a text, as in HTML, is no end of it: some models break on a second one.
        said = [self._reserved.sub(_spelt, text) for text in texts]
        made = tokenizer(said, verbose=False, **told)
        keys = [key for key in made if key in self._takes]
        return [{key: made[key][n] for key in keys} for n in range(len(texts))]

    def outputs(self, encoded: Sequence[Encoded]) -> Any:
        """Logits of shape (texts, classes), in one batch; gradients flow where they are wanted."""
        if self.alone and len(encoded) > 1:
            return torch.cat([self.outputs([one]) for one in encoded])
        padded = self.loaded.tokenizer.pad([dict(one) for one in encoded], padding=len(encoded) > 1)
        place = self.loaded.device
        inputs: dict[str, Any] = {
            key: torch.tensor(value, device=place)
            for key, value in padded.items()
            if key in self._takes
        }
        if "use_cache" in self._takes:  # what reads from the left would keep states for later
            inputs["use_cache"] = False
        return self.loaded.model(**inputs).logits

    @torch.inference_mode()
    def logits(
        self, encoded: Sequence[Encoded], *, tell: Tell = lambda _: None
    ) -> NDArray[np.float64]:
        """Logits of each text, in batches of texts of like length; equal texts are run once.

        Args:
            encoded: as ``encode`` makes them.
            tell: told how many texts a batch has done.

        Raises:
            CurationError: memory does not do for one text.
        """
        alike: dict[tuple[int, ...], list[int]] = {}
        for n, one in enumerate(encoded):
            alike.setdefault(tuple(one["input_ids"]), []).append(n)
        waiting = sorted(alike, key=lambda ids: (len(ids), ids))  # the longest is taken first
        found = np.zeros((len(encoded), len(self.classes)))
        while waiting:
            size = 1 if self.alone else max(1, self.batch_tokens // max(len(waiting[-1]), 1))
            batch = waiting[-size:]
            try:
                values = self.outputs([encoded[alike[ids][0]] for ids in batch])
                values = values.double().cpu().numpy()
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                self._halve(batch)
                continue
            del waiting[-size:]
            for ids, value in zip(batch, values, strict=True):
                found[alike[ids]] = value
            tell(sum(len(alike[ids]) for ids in batch))
        return found

    def _halve(self, batch: Sequence[tuple[int, ...]]) -> None:
        longest = len(batch[-1])
        if len(batch) == 1:
            raise CurationError(
                f"{self.loaded.name}: no memory for one text of {longest} tokens",
                "take a smaller model, or set CUDA_VISIBLE_DEVICES to nothing to run it on the CPU",
            ) from None
        free_memory()
        self.batch_tokens = max(1, len(batch) * longest // 2)
        self.loaded.notices.append(f"out of memory: batches of {self.batch_tokens} tokens from now")


# --- using one ------------------------------------------------------------------------------------


def classify(
    classifier: Classifier,
    texts: Sequence[str],
    *,
    batch_tokens: int | None = None,
    tell: Tell = lambda _: None,
) -> list[Sentiment]:
    """The sentiment of texts (ACL §4.4, Table 2), as probabilities from 0 to 1.

    What a text gets does not depend on the others nor on the size of batches, but for rounding. A
    text longer than the model's window loses its end; ``classifier.notices`` says how many did.

    Args:
        classifier: as ``load`` opens it.
        texts: in any language that it reads.
        batch_tokens: tokens of a batch; None leaves what the classifier has.
        tell: told how many texts a batch has done.

    Returns:
        Of each text in order, how likely it is negative, neutral or positive. Neutral is 0 where
        the model has no such class.

    Raises:
        CurationError: a text has nothing to read; memory ran out; the model gave no number.
    """
    if batch_tokens is not None:
        classifier.batch_tokens = max(1, batch_tokens)
    parts: list[NDArray[np.float64]] = [np.zeros((0, len(classifier.classes)))]
    for start in range(0, len(texts), _PARTS):
        encoded = classifier.encode(texts[start : start + _PARTS], first=start + 1)
        parts.append(classifier.logits(encoded, tell=tell))
    outputs = np.concatenate(parts)
    if not np.isfinite(outputs).all():
        raise CurationError(
            f"{classifier.loaded.name}: gave no number for a text",
            "its weights may be damaged, or too coarse in 16 bits: take another model",
        )
    shares = np.exp(outputs - outputs.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    columns = [np.array([sort == name for sort in classifier.classes]) for name in THREE]
    sums = [shares[:, own].sum(-1).tolist() for own in columns]
    return [Sentiment(*row) for row in zip(*sums, strict=True)]


# --- opening --------------------------------------------------------------------------------------


def load(
    name: str,
    *,
    labels: Sequence[str] | None = None,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
    batch_tokens: int | None = None,
) -> Classifier:
    """Open a classifier of sentiment: one from the hub, or what train-sentiment made.

    Args:
        name: a folder, or a name on the hub.
        labels: what the model's outputs mean, in their order, where its own names do not say it:
            ("negative", "positive"), ("negative", "neutral", "positive"), ("1 star", …).
        device: see ``loading.load``, as for the next three.
        dtype: of the model.
        revision: on the hub.
        trust_remote_code: run code that comes with the model.
        batch_tokens: tokens of a batch; None for what suits the device.

    Raises:
        CurationError: it is not there, is no classifier, has no trained head, or its classes do not
            say which sentiment they are.
    """
    folder = Path(name)
    if (folder / SETTINGS).exists() and not (folder / REPORT).exists():
        raise CurationError(
            f"{name}: its training has not ended",
            "run the same «curation measures train-sentiment» again: "
            "it goes on at the last checkpoint",
        )
    try:
        loaded = loading.load(
            name,
            head="classes",
            device=device,
            dtype=dtype,
            revision=revision,
            trust_remote_code=trust_remote_code,
        )
    except CurationError as error:
        if "Unrecognized configuration class" not in error.what:
            raise
        raise CurationError(
            f"{name}: models of this type tell no classes of texts",
            "name a model for text classification, or train one with "
            "«curation measures train-sentiment»",
        ) from None
    return made_of(
        loaded, read_classes(loaded.name, loaded.model.config, labels), batch_tokens=batch_tokens
    )


def made_of(
    loaded: Loaded,
    classes: Sequence[Sort],
    *,
    window: int | None = None,
    batch_tokens: int | None = None,
) -> Classifier:
    """A classifier of a loaded model; a few texts are tried side by side and alone.

    Args:
        loaded: the model.
        classes: what its outputs mean.
        window: the most tokens; None for the model's own.
        batch_tokens: see ``load``.
    """
    kind = str(loaded.device).partition(":")[0]
    classifier = Classifier(
        loaded,
        tuple(classes),
        window if window is not None else loaded.window,
        batch_tokens or BATCH_TOKENS.get(kind, GPU_BATCH_TOKENS),
        _takes=frozenset(inspect.signature(loaded.model.forward).parameters),
        _reserved=_reserved(loaded.tokenizer),
    )
    encoded = classifier.encode(_EXAMPLES)
    with torch.inference_mode():
        plain = torch.cat([classifier.outputs([one]) for one in encoded]).float()
        own = _give_padding(loaded)
        if not _pads(classifier, encoded, plain):
            loaded.model.config.pad_token_id, classifier.alone = own, True
            loaded.notices.append(
                f"{loaded.name}: cannot take texts side by side and reads them one by one, slower"
            )
    classifier.seen = classifier.truncated = 0
    return classifier


def _reserved(tokenizer: Any) -> re.Pattern[str]:
    """What a tokenizer takes for a token of its own wherever it stands."""
    names = sorted((name for name in tokenizer.all_special_tokens if len(name) > 1), key=len)
    return re.compile("|".join(map(re.escape, names[::-1]))) if names else _NOTHING


def _spelt(found: re.Match[str]) -> str:
    return f"{found[0][0]} {found[0][1:]}"


def _give_padding(loaded: Loaded) -> Any:
    """A token to fill rows with, for models that have none; returns the one that they had."""
    tokenizer, config = loaded.tokenizer, loaded.model.config
    own = getattr(config, "pad_token_id", None)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    if own is None:  # without it they would not find a text's last token
        config.pad_token_id = tokenizer.pad_token_id
    return own


def _pads(classifier: Classifier, encoded: Sequence[Encoded], plain: Any) -> bool:
    """Whether texts side by side have the outputs that they have alone."""
    try:
        both = classifier.outputs(encoded).float()
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
        return False
    dtype = str(classifier.loaded.model.dtype).removeprefix("torch.")
    allowed = _NEAR_ENOUGH.get(dtype, _COARSEST)
    most = max(1.0, float(plain.abs().max()))
    return bool((both - plain).abs().max() <= allowed * most)
