"""The rules for masked models (the contract is in ``curation.models.rules``)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError
from curation.kinds import ITEMS
from curation.models.attentions import mean_attentions
from curation.models.causal import finite
from curation.models.forward import Runner, Text
from curation.models.rules import Refusal, Scored, ScoringRequest, not_computed
from curation.models.tokens import Tokens, shared_places, surround, tokenize
from curation.text.item_form import BLANK

_ATTRIBUTE = ("attribute-acl", "attribute-arxiv", "attribute-code")
_LITERAL = "attribute-code-literal"
_PLL = ("pll", "pll-shared", "pll-shared-3", "pll-word-l2r")
_UNMASKED = ("aul", "aula")


class Frame(NamedTuple):
    """The special tokens before and after a text, the mask token, and the window in tokens."""

    before: list[int]
    after: list[int]
    mask: int
    window: int | None


def score(runner: Runner, rule: str, requests: Sequence[ScoringRequest]) -> list[Scored]:
    """Scores of associations under a rule, in natural logarithms.

    Args:
        runner: a masked model, or XLNet.
        rule: one of the contract's rules for masked models, except nsp.
        requests: the associations.

    Raises:
        CurationError: the rule is another one, the tokenizer does not have what it needs, or
            memory ran out.
    """
    plans = texts(runner.loaded.tokenizer, rule, requests, window=runner.loaded.window)
    flat = [text for plan in plans if isinstance(plan, list) for text in plan]
    read = runner.log_probs(flat)
    if rule == "aula":
        weights = mean_attentions(runner, flat)
        read = [
            logs * weight[[place for place, _ in text.reads]]
            for text, logs, weight in zip(flat, read, weights, strict=True)
        ]
    values = iter(read)
    return [
        plan
        if isinstance(plan, Refusal)
        else finite(_combined(rule, np.concatenate([next(values) for _ in plan])))
        for plan in plans
    ]


def texts(
    tokenizer: Any, rule: str, requests: Sequence[ScoringRequest], *, window: int | None = None
) -> list[list[Text] | Refusal]:
    """The texts that the model reads for each association: with masks and one read each, or whole.

    Args:
        tokenizer: the model's tokenizer.
        rule: one of the contract's rules for masked models, except nsp.
        requests: the associations.
        window: the largest number of tokens; None for no limit.

    Raises:
        CurationError: the rule is another one; the tokenizer has no mask token, or does not give
            the information that the rule needs.
    """
    if tokenizer.mask_token_id is None:
        raise CurationError("the tokenizer has no mask token", "use a masked model")
    frame = Frame(*surround(tokenizer), int(tokenizer.mask_token_id), window)
    if rule == _LITERAL:
        rows = [_pasted(tokenizer, request, frame) for request in requests]
    elif rule not in _ATTRIBUTE + _PLL + _UNMASKED:
        raise _not_computed(rule)
    else:
        attribute = rule in _ATTRIBUTE
        wholes = [each.filled if attribute else each.text for each in requests]
        others = tokenize(tokenizer, [each.other for each in requests])
        rows = [
            _attribute(rule, request, whole, frame)
            if attribute
            else _pll(rule, request, whole, other, frame)
            for request, whole, other in zip(
                requests, tokenize(tokenizer, wholes), others, strict=True
            )
        ]
    result: list[list[Text] | Refusal] = []
    for row in rows:
        longest = max((len(text.ids) for text in row), default=0)
        if window and longest > window:
            result.append(Refusal("too_long", f"{longest} tokens, the window is {window}"))
        else:
            result.append(row or Refusal("nothing_to_score", "no token to score"))
    return result


def _combined(rule: str, values: NDArray[np.float64]) -> float:
    if rule == "attribute-arxiv" or rule in _UNMASKED:
        return float(values.mean())
    if rule == "pll-shared-3":
        return round(float(values.sum()), 3)
    if rule in ("attribute-acl", "attribute-code", _LITERAL):
        return float(np.logaddexp.reduce(values) - np.log(len(values)))
    if rule in _PLL:
        return float(values.sum())
    raise _not_computed(rule)


def _not_computed(rule: str) -> CurationError:
    return not_computed(rule, [*_ATTRIBUTE, _LITERAL, *_PLL, *_UNMASKED])


def _attribute(rule: str, request: ScoringRequest, whole: Tokens, frame: Frame) -> list[Text]:
    size = request.end - request.start
    pieces = whole.touching([(request.at, request.at + size)])
    if not pieces or not request.attribute.strip():
        return []
    hidden = set(whole.touching([(at, at + size) for at in request.also])) - set(pieces)
    ids = [frame.mask if place in hidden else token for place, token in enumerate(whole.ids)]
    first, end = pieces[0], pieces[-1] + 1
    texts = []
    for place in range(first, end):
        later = [frame.mask] * (end - place) if rule == "attribute-acl" else [frame.mask]
        row = ids[:place] + later + ids[end:]
        texts.append(_framed(row, place, whole.ids[place], frame))
    return texts


def _pasted(tokenizer: Any, request: ScoringRequest, frame: Frame) -> list[Text]:
    """Texts as StereoSet's ``IntrasentenceLoader`` makes them; the first mask is read.

    All BLANKs of a context get the same pieces and a mask. The attribute is tokenized alone,
    without the space before it in the text.
    """
    if not request.attribute.strip():
        return []
    pieces = tokenizer(request.attribute, add_special_tokens=False, verbose=False)["input_ids"]
    texts = []
    for number, piece in enumerate(pieces):
        pasted = tokenizer.decode(pieces[:number]) + tokenizer.mask_token
        text = request.context.replace(BLANK, pasted)
        row = list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        texts.append(_framed(row, row.index(frame.mask), int(piece), frame))
    return texts


def _pll(
    rule: str, request: ScoringRequest, whole: Tokens, other: Tokens, frame: Frame
) -> list[Text]:
    places: Sequence[int] = range(len(whole.ids))
    if rule in _UNMASKED:
        start = len(frame.before)
        reads = [(start + place, whole.ids[place]) for place in places]
        return [Text([*frame.before, *whole.ids, *frame.after], reads)] if reads else []
    if rule in ("pll-shared", "pll-shared-3"):
        if not ITEMS[request.kind].context:
            around = (frame.before, frame.after)
            places = shared_places(whole.ids, other.ids, around=around, second=request.second)
        elif not ITEMS[request.kind].has_gap:
            places = whole.touching([(0, len(request.context))])
        else:
            own = set(whole.touching(request.fills))
            places = [place for place in places if place not in own] if own else []
    if rule == "pll-word-l2r" and whole.ids and not whole.words:
        raise CurationError("the tokenizer does not say where words begin", "use the rule «pll»")
    texts = []
    for place in places:
        row = list(whole.ids)
        row[place] = frame.mask
        if rule == "pll-word-l2r":
            word = whole.words[place]
            for later in range(place + 1, len(row)):
                if word is None or whole.words[later] != word:
                    break
                row[later] = frame.mask
        texts.append(_framed(row, place, whole.ids[place], frame, trim=False))
    return texts


def _framed(row: list[int], place: int, token: int, frame: Frame, *, trim: bool = True) -> Text:
    """The row between its special tokens, without surplus tokens at its left if ``trim``."""
    over = len(frame.before) + len(row) + len(frame.after) - (frame.window or 10**9)
    cut = min(max(over, 0), place) if trim else 0
    ids = [*frame.before, *row[cut:], *frame.after]
    return Text(ids, [(len(frame.before) + place - cut, token)])
