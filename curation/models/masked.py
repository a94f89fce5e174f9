"""The rules for masked models (the contract is in ``curation.models.rules``)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.blank import BLANK
from curation.files import CurationError
from curation.models.causal import finite
from curation.models.forward import Runner, Tell
from curation.models.packing import Text
from curation.models.rules import Refusal, Scored, ScoringRequest
from curation.models.tokens import Tokens, surround, tokenize


class Frame(NamedTuple):
    """What stands around a text, and the mask."""

    before: list[int]
    after: list[int]
    mask: int
    window: int | None


def score(
    runner: Runner, rule: str, asks: Sequence[ScoringRequest], *, tell: Tell = lambda _: None
) -> list[Scored]:
    """Scores of associations under a rule, in natural logarithms.

    Args:
        runner: a masked model, or XLNet.
        rule: one of the contract's for masked models, but nsp.
        asks: the associations.
        tell: told how many rows a batch has done.

    Raises:
        CurationError: the tokenizer lacks what the rule needs, or memory ran out.
    """
    plans = texts(runner.loaded.tokenizer, rule, asks, window=runner.loaded.window)
    values = iter(
        runner.log_probs([t for plan in plans if isinstance(plan, list) for t in plan], tell)
    )
    return [
        plan
        if isinstance(plan, Refusal)
        else finite(_combined(rule, np.concatenate([next(values) for _ in plan])))
        for plan in plans
    ]


def texts(
    tokenizer: Any, rule: str, asks: Sequence[ScoringRequest], *, window: int | None = None
) -> list[list[Text] | Refusal]:
    """What the model reads for each association: texts with masks, one position read in each.

    Raises:
        CurationError: the tokenizer has no mask token, or does not tell what a rule needs.
    """
    if tokenizer.mask_token_id is None:
        raise CurationError("the tokenizer has no mask token", "name a masked model")
    frame = Frame(*surround(tokenizer), int(tokenizer.mask_token_id), window)
    if rule == "attribute-code-literal":
        rows = [_pasted(tokenizer, ask, frame) for ask in asks]
    else:
        attribute = rule.startswith("attribute")
        tokens = tokenize(tokenizer, [ask.filled if attribute else ask.text for ask in asks])
        lay = _attribute if attribute else _pll
        rows = [lay(rule, ask, whole, frame) for ask, whole in zip(asks, tokens, strict=True)]
    found: list[list[Text] | Refusal] = []
    for row in rows:
        longest = max((len(text.ids) for text in row), default=0)
        if window and longest > window:
            found.append(Refusal("too_long", f"{longest} tokens, the window is {window}"))
        else:
            found.append(row or Refusal("nothing_to_score", "no token to score"))
    return found


def _combined(rule: str, values: NDArray[np.float64]) -> float:
    if rule == "attribute-arxiv":
        return float(values.mean())
    if rule in ("attribute-acl", "attribute-code", "attribute-code-literal"):
        return float(np.logaddexp.reduce(values) - np.log(len(values)))
    return float(values.sum())


def _attribute(rule: str, ask: ScoringRequest, whole: Tokens, frame: Frame) -> list[Text]:
    size = ask.end - ask.start
    pieces = whole.touching([(ask.at, ask.at + size)])
    if not pieces or not ask.attribute.strip():
        return []
    hidden = set(whole.touching([(at, at + size) for at in ask.also])) - set(pieces)
    ids = [frame.mask if place in hidden else token for place, token in enumerate(whole.ids)]
    first, end = pieces[0], pieces[-1] + 1
    made = []
    for place in range(first, end):
        later = [frame.mask] * (end - place) if rule == "attribute-acl" else [frame.mask]
        row = ids[:place] + later + ids[end:]
        made.append(_framed(row, place, whole.ids[place], frame))
    return made


def _pasted(tokenizer: Any, ask: ScoringRequest, frame: Frame) -> list[Text]:
    """Texts made and tokenized as StereoSet's ``IntrasentenceLoader`` does; its first mask is read.

    All BLANKs of a context get the same pieces and a mask, and a piece is one of the attribute
    tokenized alone, without the space that stands before it in the text.
    """
    if not ask.attribute.strip():
        return []
    pieces = tokenizer(ask.attribute, add_special_tokens=False, verbose=False)["input_ids"]
    made = []
    for number, piece in enumerate(pieces):
        pasted = tokenizer.decode(pieces[:number]) + tokenizer.mask_token
        text = ask.context.replace(BLANK, pasted)
        row = list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        made.append(_framed(row, row.index(frame.mask), int(piece), frame))
    return made


def _pll(rule: str, ask: ScoringRequest, whole: Tokens, frame: Frame) -> list[Text]:
    places: Sequence[int] = range(len(whole.ids))
    if rule == "pll-shared":
        if ask.kind == "intersentence":
            places = whole.touching([(0, len(ask.context))])
        else:
            own = set(whole.touching(ask.fills))
            places = [place for place in places if place not in own] if own else []
    if rule == "pll-word-l2r" and whole.ids and not whole.words:
        raise CurationError("the tokenizer does not tell words apart", "take the rule «pll»")
    made = []
    for place in places:
        row = list(whole.ids)
        row[place] = frame.mask
        if rule == "pll-word-l2r":
            word = whole.words[place]
            for later in range(place + 1, len(row)):
                if word is None or whole.words[later] != word:
                    break
                row[later] = frame.mask
        made.append(_framed(row, place, whole.ids[place], frame, trim=False))
    return made


def _framed(row: list[int], place: int, token: int, frame: Frame, *, trim: bool = True) -> Text:
    """The row between its special tokens; without what is too much at its left."""
    over = len(frame.before) + len(row) + len(frame.after) - (frame.window or 10**9)
    cut = min(max(over, 0), place) if trim else 0
    ids = [*frame.before, *row[cut:], *frame.after]
    return Text(ids, [(len(frame.before) + place - cut, token)])
