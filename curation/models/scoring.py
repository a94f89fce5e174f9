"""Open the model to be scored, and compute each rule with the module that implements it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from curation.files import CurationError, read_json
from curation.models.chat import Chat, ChatSpec, read_prompts
from curation.models.loading import (
    Loaded,
    check_causal,
    fingerprint,
    identity,
    load,
    loading_options,
    open_tokenizer,
)
from curation.models.rules import Family, Scored, ScoringRequest
from curation.models.tokens import count_tokens
from curation.records import Fields
from curation.version import __version__

if TYPE_CHECKING:
    from curation.models.completions import Endpoint, Repeats

Score = Callable[[str, Sequence[ScoringRequest]], list[Scored]]


@dataclass(frozen=True)
class ModelSpec:
    """A model, and how to run it: all that a worker needs to open it.

    Attributes:
        name: a folder or a name on the hub; with ``url``, the name at that endpoint.
        family: the family; by default as the model's configuration says.
        device, dtype, revision, trust_remote_code: see ``loading.Options``.
        batch_tokens: tokens in a batch; None for a size that suits the device.
        plain: use no packed rows and no faster layers.
        label: the name in tables and folders; by default the model's own.
        nsp: the folder of a trained next-sentence head, if it is not the model itself.
        url: the address of a completions endpoint.
        bos: BOS token text of the endpoint.
        chat: how a chat model is asked; None for a model of another family.
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
    chat: ChatSpec | None = None


class Scorer:
    """A model and its rules. A head or an endpoint is opened when a rule first needs it.

    Attributes:
        spec: the model, and how to run it.
        about: what was opened, for ``run.json``.
        notices: messages for the user.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.about: Fields = {}
        self.notices: list[str] = []
        self._open: dict[str, Score] = {}
        self._served: Endpoint | None = None

    def score(self, rule: str, requests: Sequence[ScoringRequest]) -> list[Scored]:
        """Score associations; the scores have the order of the requests.

        Raises:
            CurationError: the model cannot be opened, or the rule is not for it.
        """
        part = "nsp" if rule == "nsp" else "lm"
        if part not in self._open:
            self._open[part] = self._nsp() if part == "nsp" else self._lm()
        return self._open[part](rule, requests)

    def repeat(self, rule: str, requests: Sequence[ScoringRequest]) -> "Repeats | None":
        """As ``Endpoint.repeat``; None for a model on this machine."""
        return self._served.repeat(rule, requests) if self._served else None

    def _lm(self) -> Score:
        if self.spec.url:
            return self._endpoint()
        from curation.models import causal, masked
        from curation.models.forward import Runner

        loaded = load_model(self.spec)
        self.notices += loaded.notices
        loaded.notices = self.notices  # so that later notices are shown, too
        self.about |= loaded.about
        how: Fields = {"batch_tokens": self.spec.batch_tokens, "plain": self.spec.plain}
        if loaded.family == "seq2seq":
            from curation.models import seq2seq

            return partial(seq2seq.score, loaded, batch_tokens=self.spec.batch_tokens)
        if loaded.family == "xlnet":
            from curation.models.xlnet import XLNetRunner

            return partial(masked.score, XLNetRunner(loaded, **how))
        module = {"causal": causal, "masked": masked}[loaded.family]
        return partial(module.score, Runner(loaded, **how))

    def _nsp(self) -> Score:
        from curation.models import nsp

        spec = self.spec
        options = loading_options(spec) | ({"revision": None} if spec.nsp else {})
        head = nsp.load_next_sentence(
            spec.nsp or spec.name, batch_tokens=spec.batch_tokens, plain=spec.plain, **options
        )
        self.notices += head.loaded.notices
        head.loaded.notices = self.notices
        self.about |= {"nsp": head.loaded.about}
        return partial(nsp.score, head)

    def _endpoint(self) -> Score:
        from curation.models.completions import Endpoint

        endpoint = Endpoint(
            self.spec.url, self.spec.name, bos=self.spec.bos, notice=self.notices.append
        )

        self._served = endpoint

        def score(rule: str, requests: Sequence[ScoringRequest]) -> list[Scored]:
            scores = endpoint.score(rule, requests)
            self.about |= endpoint.about()  # the server may have changed in the meantime
            return scores

        return score


def load_model(spec: ModelSpec) -> "Loaded":
    """Load a model on this machine, with faster layers unless it is to be run plainly.

    Raises:
        CurationError: the model cannot be loaded.
    """
    loaded = load(spec.name, family=spec.family, **loading_options(spec))
    if loaded.family == "xlnet":
        from curation.models.xlnet import repair

        repair(loaded)
    if not spec.plain:
        from curation.models.faster import quicken

        quicken(loaded)
    return loaded


@contextmanager
def open_chat(spec: ModelSpec, *, notice: Callable[[str], None]) -> Iterator[Chat]:
    """A chat model: behind an endpoint, or on this machine.

    Args:
        spec: the model; ``spec.chat`` says how it is asked.
        notice: receives messages for the user.

    Raises:
        CurationError: the model or the file of prompts cannot be read, or the endpoint does not
            answer.
    """
    assert spec.chat is not None
    if spec.url:
        from curation.models.chat_endpoint import ChatEndpoint

        with ChatEndpoint(spec.url, spec.name, spec=spec.chat, notice=notice) as endpoint:
            yield endpoint
        return
    from curation.models.chat_local import LocalChat

    prompts = read_prompts(spec.chat.prompts)
    loaded = load_model(spec)
    yield LocalChat(
        loaded, prompts, batch_tokens=spec.batch_tokens, plain=spec.plain, notice=notice
    )


@lru_cache(maxsize=1)
def open_scorer(spec: ModelSpec) -> Scorer:
    """A scorer. The last one is kept, so that a worker loads its model only once."""
    return Scorer(spec)


def identify(spec: ModelSpec) -> Fields:
    """The fields that identify the scores of a model run in this way, without loading its weights.

    Those of a chat model do not say how it is asked. Those of a chat model behind an endpoint name
    no version of curation, because its answers do not depend on it.

    Raises:
        CurationError: the model does not exist or cannot be read, it is not for its rules, or the
            next-sentence head is not for this model.
    """
    if spec.url:
        from curation.models.connection import host

        name = spec.label or spec.name
        if spec.chat:
            return {"model": name, "family": "chat", "url": host(spec.url)}
        place = {"url": host(spec.url), "bos": spec.bos, "versions": {"curation": __version__}}
        return {"model": name, "family": "endpoint", **place}
    fields = identity(spec.name, family=spec.family, **loading_options(spec))
    if spec.chat:
        check_causal(fields["family"], spec.name)
        return {**fields, "model": spec.label or fields["model"], "family": "chat"}
    if spec.nsp:
        folder = Path(spec.nsp)
        if not (folder / "head.json").exists():
            raise CurationError(
                f"{folder}: contains no trained next-sentence head",
                "name the folder that was the --out of «curation scores train-nsp»",
            )
        base = read_json(folder / "head.json").get("base", {})
        if base.get("revision") != fields["revision"]:
            raise CurationError(
                f"{folder}: its head was trained for another model, {base.get('model')}",
                f"train one for {spec.name}; each model needs its own --nsp, in its own command",
            )
        fields["nsp"] = fingerprint(folder)
    return {**fields, "model": spec.label or fields["model"]}


def tokens_of(spec: ModelSpec, texts: Sequence[str]) -> dict[str, int] | None:
    """How many tokens a model reads in these texts, and how many of them are unknown.

    Returns:
        ``read`` and ``unknown``, as ``tokens.count_tokens`` counts them; None for an endpoint,
        because its tokenizer is not known.

    Raises:
        CurationError: the model has no tokenizer.
    """
    if spec.url:
        return None
    tokenizer = open_tokenizer(
        spec.name, revision=spec.revision, trust_remote_code=spec.trust_remote_code
    )
    return count_tokens(tokenizer, texts)
