"""Open what is to be scored, and put each rule to the module that computes it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation import __version__
from curation.files import CurationError, read_json
from curation.models.rules import Family, Scored, ScoringRequest

Score = Callable[[str, Sequence[ScoringRequest]], list[Scored]]


@dataclass(frozen=True)
class ModelSpec:
    """A model, and how to run it; what a worker needs to open it for itself.

    Attributes:
        name: a folder or a name on the hub; with ``url``, the name at that endpoint.
        family: how to take it, if not as its configuration says.
        device, dtype, revision, trust_remote_code: see ``loading.load``.
        batch_tokens: tokens of a batch; None for what suits the device.
        plain: no packed rows and no swapped-in layers.
        label: what it is called in tables and folders, if not by its name.
        nsp: the folder of a trained next-sentence head, where that is not the model itself.
        url: of a completions endpoint.
        bos: the text of the endpoint's token for the beginning of a text.
    """

    name: str
    family: Family | None = None
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    batch_tokens: int | None = None
    plain: bool = False
    label: str = ""
    nsp: str = ""
    url: str = ""
    bos: str = ""


class Scorer:
    """A model under its rules. What a rule needs (a head, an endpoint) is opened when it is asked.

    ``about`` says what was opened, ``notices`` what the user should be told.
    """

    def __init__(self, wanted: ModelSpec) -> None:
        self.wanted = wanted
        self.about: dict[str, Any] = {}
        self.notices: list[str] = []
        self._open: dict[str, Score] = {}

    def score(self, rule: str, asks: Sequence[ScoringRequest]) -> list[Scored]:
        """Scores of associations, in their order.

        Raises:
            CurationError: the model cannot be opened, or cannot serve the rule.
        """
        part = "nsp" if rule == "nsp" else "lm"
        if part not in self._open:
            self._open[part] = self._nsp() if part == "nsp" else self._lm()
        return self._open[part](rule, asks)

    def _lm(self) -> Score:
        if self.wanted.url:
            return self._endpoint()
        from curation.models import causal, masked
        from curation.models.forward import Runner

        loaded = self._load()
        how: dict[str, Any] = {"batch_tokens": self.wanted.batch_tokens, "plain": self.wanted.plain}
        if loaded.family == "seq2seq":
            from curation.models import seq2seq

            tokens = self.wanted.batch_tokens
            return lambda rule, asks: seq2seq.score(loaded, rule, asks, batch_tokens=tokens)
        if loaded.family == "xlnet":
            from curation.models.xlnet import PermutedRunner

            hidden = PermutedRunner(loaded, **how)
            return lambda rule, asks: masked.score(hidden, rule, asks)
        runner = Runner(loaded, **how)
        module = causal if loaded.family == "causal" else masked
        return lambda rule, asks: module.score(runner, rule, asks)

    def _load(self) -> Any:
        from curation.models.loading import load

        wanted = self.wanted
        loaded = load(
            wanted.name,
            family=wanted.family,
            device=wanted.device,
            dtype=wanted.dtype,
            revision=wanted.revision,
            trust_remote_code=wanted.trust_remote_code,
        )
        loaded.notices = self.notices  # what comes up later is told, too
        if loaded.family == "xlnet":
            from curation.models.xlnet import repair

            repair(loaded)
        if not wanted.plain:
            from curation.models.faster import quicken

            quicken(loaded)
        self.about |= loaded.about
        return loaded

    def _nsp(self) -> Score:
        from curation.models import nsp

        wanted = self.wanted
        head = nsp.load_next_sentence(
            wanted.nsp or wanted.name,
            device=wanted.device,
            dtype=wanted.dtype,
            revision=None if wanted.nsp else wanted.revision,
            trust_remote_code=wanted.trust_remote_code,
            batch_tokens=wanted.batch_tokens,
            plain=wanted.plain,
        )
        self.notices += head.loaded.notices
        head.loaded.notices = self.notices
        self.about |= {"nsp": head.loaded.about}
        return lambda rule, asks: nsp.score(head, rule, asks)

    def _endpoint(self) -> Score:
        from curation.models.endpoint.client import open_endpoint

        endpoint = open_endpoint(
            self.wanted.url, self.wanted.name, bos=self.wanted.bos, say=self.notices.append
        )

        def score(rule: str, asks: Sequence[ScoringRequest]) -> list[Scored]:
            found = endpoint.score(rule, asks)
            self.about |= endpoint.about()  # a server may have been changed meanwhile
            return found

        return score


@lru_cache(maxsize=1)
def open_scorer(wanted: ModelSpec) -> Scorer:
    """A scorer; the one that was opened last is kept, so that a worker loads a model once."""
    return Scorer(wanted)


def identify(wanted: ModelSpec) -> dict[str, Any]:
    """What tells this model, run this way, from others: known before its weights are loaded.

    Raises:
        CurationError: it is not there, or cannot be read.
    """
    if wanted.url:
        from curation.models.endpoint.client import host

        name = wanted.label or wanted.name
        place = {"url": host(wanted.url), "bos": wanted.bos, "versions": {"curation": __version__}}
        return {"model": name, "family": "endpoint", **place}
    from curation.models.loading import identity

    found = identity(
        wanted.name,
        family=wanted.family,
        device=wanted.device,
        dtype=wanted.dtype,
        revision=wanted.revision,
        trust_remote_code=wanted.trust_remote_code,
    )
    if wanted.nsp:
        from curation.models.loading import fingerprint

        folder = Path(wanted.nsp)
        if not (folder / "head.json").exists():
            raise CurationError(
                f"{folder}: no trained next-sentence head", "name the --out of «train-nsp»"
            )
        base = read_json(folder / "head.json").get("base", {})
        if base.get("revision") != found["revision"]:
            raise CurationError(
                f"{folder}: its head is of another model, {base.get('model')}",
                f"train one for {wanted.name}; each model needs its own --nsp, in its own command",
            )
        found["nsp"] = fingerprint(folder)
    return {**found, "model": wanted.label or found["model"]}


def tokens_of(wanted: ModelSpec, texts: Sequence[str]) -> dict[str, int] | None:
    """How many tokens a model reads in these texts, and how many of them it does not know.

    Returns:
        ``read`` and ``unknown``, as ``tokens.count_tokens`` counts them; None for an endpoint,
        whose tokenizer is not known.

    Raises:
        CurationError: the model has no tokenizer.
    """
    if wanted.url:
        return None
    from curation.models.loading import open_tokenizer
    from curation.models.tokens import count_tokens

    tokenizer = open_tokenizer(
        wanted.name, revision=wanted.revision, trust_remote_code=wanted.trust_remote_code
    )
    return count_tokens(tokenizer, texts)
