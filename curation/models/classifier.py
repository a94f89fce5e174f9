"""The sentiment of texts, by any classifier that transformers can open.

StereoSet classifies its sentences with a BERT that was fine-tuned on reviews (ACL §4.4, A.2). Here
you can use any classifier with two classes (negative, positive), three classes (with neutral), or
one to five stars. The probabilities of the classes are the softmax of the model's outputs; those of
classes with the same sentiment are added up.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models import loading
from curation.models.forward import halved, usual_batch
from curation.models.loading import REPORT, Loaded, Options
from curation.models.sentiments import THREE, Polarity, read_classes
from curation.records import Fields
from curation.text.rules import grouped
from curation.text.wording import amount

SETTINGS = "train-sentiment.json"
Encoded = Mapping[str, Sequence[int]]
Tell = Callable[[int], None]
_EXAMPLES = ("a", "one two three", "the bread is good and the weather is fine today")
# By how much rounding may change logits in a padded batch, by precision.
_TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "float16": 2e-2}
_COARSEST = 1e-1  # for bfloat16 and any other precision
_NOTHING = re.compile(r"(?!)")
_SMALLER = "use a smaller model, or set CUDA_VISIBLE_DEVICES= to run it on the CPU"
_PARTS = 20_000  # texts whose tokens are in memory at once


class Sentiment(NamedTuple):
    """The probabilities that a text is negative, neutral and positive; they add up to 1."""

    negative: float
    neutral: float
    positive: float


@dataclass
class Classifier:
    """A text classifier, and how it is run.

    Attributes:
        loaded: the model and its tokenizer.
        classes: the sentiment of each output.
        window: the largest number of tokens it is given; None for no limit.
        batch_tokens: tokens in a batch, including padding.
        alone: it cannot read several texts in one batch.
        seen: how many texts it has been given so far.
        truncated: how many of these were cut off at the end.
    """

    loaded: Loaded
    classes: tuple[Polarity, ...]
    window: int | None
    batch_tokens: int
    alone: bool = False
    seen: int = 0
    truncated: int = 0
    _takes: frozenset[str] = field(default_factory=frozenset)
    _reserved: re.Pattern[str] = _NOTHING

    @property
    def about(self) -> Fields:
        """The fields that identify its results: model, revision, dtype, versions and so on."""
        fields = {key: value for key, value in self.loaded.about.items() if key != "family"}
        return {**fields, "window": self.window, "classes": list(self.classes)}

    @property
    def notices(self) -> list[str]:
        """Messages for the user."""
        if not self.truncated:
            return self.loaded.notices
        cut = (
            f"{self.loaded.name}: the ends of texts with more than {self.window} tokens were not "
            f"read: {self.truncated:,} of {amount(self.seen, 'text')}"
        )
        return [*self.loaded.notices, cut]

    # --- running --------------------------------------------------------------------------------

    def encode(self, texts: Sequence[str], *, first: int = 1) -> list[Encoded]:
        """Texts as the model reads them; texts that are too long are cut off at the end.

        Args:
            texts: the texts.
            first: the number of the first text, for errors.

        Raises:
            CurationError: a text has no token; the error gives its number.
        """
        encoded = self._tokens(texts)
        self.seen += len(texts)
        for n, (text, tokens) in enumerate(zip(texts, encoded, strict=True), first):
            if not text.strip() or not tokens["input_ids"]:
                raise CurationError(f"text {n}: is empty", "leave out empty texts")
        if self.window is None:
            return encoded
        long = [n for n, tokens in enumerate(encoded) if len(tokens["input_ids"]) > self.window]
        if long:
            options = {"truncation": True, "max_length": self.window}
            cut = self._tokens([texts[n] for n in long], **options)
            for n, tokens in zip(long, cut, strict=True):
                encoded[n] = tokens
            self.truncated += len(long)
        return encoded

    def _tokens(self, texts: Sequence[str], **options: Any) -> list[Encoded]:
        if not texts:
            return []
        tokenizer = self.loaded.tokenizer
        tokenizer.truncation_side = "right"
        # «</s>» in a text, as in HTML, does not end it: some models fail on a second end token.
        plain = [self._reserved.sub(lambda m: f"{m[0][0]} {m[0][1:]}", text) for text in texts]
        encoded = tokenizer(plain, verbose=False, **options)
        keys = [key for key in encoded if key in self._takes]
        return [{key: encoded[key][n] for key in keys} for n in range(len(texts))]

    def outputs(self, encoded: Sequence[Encoded]) -> Any:
        """Logits of one batch, with gradients if torch records them; shape (texts, classes)."""
        if self.alone and len(encoded) > 1:
            return torch.cat([self.outputs([text]) for text in encoded])
        texts = [dict(text) for text in encoded]
        padded = self.loaded.tokenizer.pad(texts, padding=len(encoded) > 1)
        device = self.loaded.device
        inputs: Fields = {
            key: torch.tensor(value, device=device)
            for key, value in padded.items()
            if key in self._takes
        }
        if "use_cache" in self._takes:  # autoregressive models would keep states for later
            inputs["use_cache"] = False
        return self.loaded.model(**inputs).logits

    @torch.inference_mode()
    def logits(
        self, encoded: Sequence[Encoded], *, tell: Tell = lambda _: None
    ) -> NDArray[np.float64]:
        """Logits of texts, in batches of texts of similar length; equal texts are run once.

        Args:
            encoded: texts as ``encode`` returns them.
            tell: called with the number of texts in each batch.

        Returns:
            Logits of shape (texts, classes).

        Raises:
            CurationError: there is not enough memory for one text.
        """
        alike = grouped((tuple(text["input_ids"]), n) for n, text in enumerate(encoded))
        waiting = sorted(alike, key=lambda ids: (len(ids), ids))  # the longest comes first
        logits = np.zeros((len(encoded), len(self.classes)))
        while waiting:
            size = 1 if self.alone else max(1, self.batch_tokens // max(len(waiting[-1]), 1))
            batch = waiting[-size:]
            try:
                values = self.outputs([encoded[alike[ids][0]] for ids in batch])
                values = values.double().cpu().numpy()
            except (RuntimeError, MemoryError) as error:
                size, longest = len(batch), len(batch[-1])
                self.batch_tokens = halved(error, self.loaded, size, longest, fix=_SMALLER)
                continue
            del waiting[-size:]
            for ids, value in zip(batch, values, strict=True):
                logits[alike[ids]] = value
            tell(sum(len(alike[ids]) for ids in batch))
        return logits


# --- using one ------------------------------------------------------------------------------------


def classify(
    classifier: Classifier, texts: Sequence[str], *, tell: Tell = lambda _: None
) -> list[Sentiment]:
    """The sentiment of texts (ACL §4.4, Table 2), as probabilities from 0 to 1.

    Except for rounding, the result of a text does not depend on the other texts or on the size of
    batches. A text that is longer than the model's window loses its end; ``classifier.notices``
    says how many did.

    Args:
        classifier: a classifier, opened by ``load``.
        texts: texts in any language that it reads.
        tell: called with the number of texts in each batch.

    Returns:
        For each text, the probabilities of negative, neutral and positive. Neutral is 0 if the
        model has no such class.

    Raises:
        CurationError: a text is empty; memory ran out; an output of the model is not a number.
    """
    parts: list[NDArray[np.float64]] = [np.zeros((0, len(classifier.classes)))]
    for start in range(0, len(texts), _PARTS):
        encoded = classifier.encode(texts[start : start + _PARTS], first=start + 1)
        parts.append(classifier.logits(encoded, tell=tell))
    outputs = np.concatenate(parts)
    if not np.isfinite(outputs).all():
        raise CurationError(
            f"{classifier.loaded.name}: its output for a text is not a number",
            "its weights may be damaged, or 16 bits too imprecise: use another model",
        )
    shares = np.exp(outputs - outputs.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    columns = [np.array([own == name for own in classifier.classes]) for name in THREE]
    sums = [shares[:, chosen].sum(-1).tolist() for chosen in columns]
    return [Sentiment(*row) for row in zip(*sums, strict=True)]


# --- opening --------------------------------------------------------------------------------------


def load(
    name: str,
    *,
    labels: Sequence[str] | None = None,
    batch_tokens: int | None = None,
    **options: Unpack[Options],
) -> Classifier:
    """Open a sentiment classifier: from the hub, or trained by train-sentiment.

    Args:
        name: a folder, or a name on the hub.
        labels: the sentiment of the model's outputs, in their order, if its own class names do not
            say it: ("negative", "positive"), ("negative", "neutral", "positive"), ("1 star", …).
        batch_tokens: tokens in a batch; None for a size that suits the device.
        options: how the model is found and run.

    Raises:
        CurationError: the model does not exist, is not a classifier, or has no trained head; or the
            names of its classes do not say which sentiment they are.
    """
    folder = Path(name)
    if (folder / SETTINGS).exists() and not (folder / REPORT).exists():
        raise CurationError(
            f"{name}: its training has not ended",
            "run the same «curation measures train-sentiment» again: "
            "it continues from the last checkpoint",
        )
    loaded = loading.load(name, head="classes", **options)
    classes = read_classes(loaded.name, loaded.model.config, labels)
    return classifier_of(loaded, classes, batch_tokens=batch_tokens)


def classifier_of(
    loaded: Loaded,
    classes: Sequence[Polarity],
    *,
    window: int | None = None,
    batch_tokens: int | None = None,
) -> Classifier:
    """Make a classifier of a loaded model, and test whether it can read texts in batches.

    Args:
        loaded: the model.
        classes: the sentiment of each output.
        window: the largest number of tokens; None for the model's own limit.
        batch_tokens: see ``load``.
    """
    classifier = Classifier(
        loaded,
        tuple(classes),
        window if window is not None else loaded.window,
        batch_tokens or usual_batch(loaded),
        _takes=frozenset(inspect.signature(loaded.model.forward).parameters),
        _reserved=_reserved(loaded.tokenizer),
    )
    encoded = classifier.encode(_EXAMPLES)
    with torch.inference_mode():
        plain = torch.cat([classifier.outputs([text]) for text in encoded]).float()
        own = _give_padding(loaded)
        if not _pads(classifier, encoded, plain):
            loaded.model.config.pad_token_id, classifier.alone = own, True
            loaded.notices.append(
                f"{loaded.name}: cannot read texts in batches; it reads them one by one, slower"
            )
    classifier.seen = classifier.truncated = 0
    return classifier


def _reserved(tokenizer: Any) -> re.Pattern[str]:
    """A pattern for the special tokens of a tokenizer, which it recognises within texts."""
    names = sorted((name for name in tokenizer.all_special_tokens if len(name) > 1), key=len)
    return re.compile("|".join(map(re.escape, names[::-1]))) if names else _NOTHING


def _give_padding(loaded: Loaded) -> Any:
    """Set a padding token if the model has none; returns the one that it had before."""
    tokenizer, config = loaded.tokenizer, loaded.model.config
    own = getattr(config, "pad_token_id", None)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    if own is None:  # without it, the model would not find a text's last token
        config.pad_token_id = tokenizer.pad_token_id
    return own


def _pads(classifier: Classifier, encoded: Sequence[Encoded], plain: Any) -> bool:
    """Whether texts have the same outputs in a batch as alone."""
    try:
        both = classifier.outputs(encoded).float()
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
        return False
    dtype = str(classifier.loaded.model.dtype).removeprefix("torch.")
    allowed = _TOLERANCE.get(dtype, _COARSEST)
    most = max(1.0, float(plain.abs().max()))
    return bool((both - plain).abs().max() <= allowed * most)
