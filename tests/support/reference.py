"""A slow, plain reference for every rule of the contract, to hold the quick ways against.

One association, one mask, one forward pass at a time: batch 1, float32, eager attention, nothing
packed, nothing shared, whole logits, sums in double precision. It is written from the contract in
``curation.models.rules`` and shares no code with ``curation.models`` but the question asked.
"""

import difflib
import importlib
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from curation.models.rules import Refusal, ScoringRequest

_HF: Any = importlib.import_module("transformers")
_POSITIONS = ("n_positions", "max_position_embeddings")


LONG = "Clouds drift slowly over the mountains, and nobody minds. " * 2
INTER = tuple(
    ScoringRequest("intersentence", context, sentence)
    for context, sentence in (
        ("My neighbour is a baker.", "He sings at dawn."),
        ("My neighbour is a baker.", "He sleeps until noon."),
        ("My neighbour is a baker.", "Clouds drift slowly."),
        ("The fiddlers arrived.  ", "The bread 🍞 smells good 🌞!"),
        ("Komşularımızdan birisi öğretmendir.", "Evlerimizdekilerdendir."),
        ("제 이웃은 친절합니다.", "아침마다 노래를 부릅니다."),
        (LONG, "He lives by the lake."),
    )
)
"""Questions across sentences: a CAT's three, space at the end, emoji, long words, long context."""


class Opened(NamedTuple):
    """A model, its tokenizer, and how many tokens it reads at once."""

    model: Any
    tokenizer: Any
    window: float


def intra(context: str, attribute: str, *, lower: bool = False) -> ScoringRequest:
    """An intrasentence question; ``lower`` makes the sentence differ from its context in case."""
    parts = context.split("BLANK")
    filled = attribute.join(parts)
    first = len(parts[0])
    starts = [first]
    for part in parts[1:-1]:
        starts.append(starts[-1] + len(attribute) + len(part))
    sentence = filled.lower() if lower else filled
    end = first + len(attribute)
    return ScoringRequest(
        "intrasentence", context, sentence, first, end, filled, first, tuple(starts[1:])
    )


INTRA = (
    intra("The BLANK is kind and patient.", "court jester"),
    intra("The BLANK is kind and patient.", "potter"),
    intra("The BLANK is kind and patient.", "lake"),
    intra("The BLANK asked whether a BLANK, too, can sing.", "wheelwright"),
    intra("BLANK people are Kind.", "Cheerful", lower=True),
    intra("She was seen with a BLANK", "señor Núñez"),
    intra("The bread is BLANK!", "🍞🌞"),
    intra("Komşularımızınkiler BLANK herkes çalışkandır.", "evlerimizdekilerdendir"),
    intra("제 이웃은 BLANK이고 친절합니다.", "도예가"),
)
"""Questions within a sentence: a CAT's three, two BLANKs, capitals, the edges, other scripts."""
EMPTY = (
    intra("The BLANK is kind.", ""),
    intra("The BLANK is kind.", "  "),
    ScoringRequest("intrasentence", "The BLANK is kind.", "Something else entirely."),
)
"""Questions within a sentence that have no attribute: nothing, white space, another sentence."""


def codes(found: Sequence[float | Refusal]) -> list[str]:
    """Why associations have no score; «scored» for those that have one."""
    return [each.code if isinstance(each, Refusal) else "scored" for each in found]


def reference(folder: Path, rule: str, ask: ScoringRequest) -> float | None:
    """The score of an association in natural logarithms; None where it must be refused."""
    if rule == "nsp":
        return _next_sentence(_open(folder, "AutoModelForNextSentencePrediction"), ask)
    kind = _HF.AutoConfig.from_pretrained(folder).architectures[0]
    if kind.endswith("ConditionalGeneration"):
        opened = _open(folder, "AutoModelForSeq2SeqLM")
        if rule == "infill":
            return _infill(opened, ask)
        value = _answer(opened, ask)
        by_length = rule == "conditional-chars" and value is not None
        return value / len(ask.sentence) if by_length else value
    if kind == "XLNetLMHeadModel":
        opened = _open(folder, "XLNetLMHeadModel")
    elif rule.startswith(("attribute", "pll", "aul")):
        opened = _open(folder, "AutoModelForMaskedLM")
    else:
        return _left_to_right(_open(folder, "AutoModelForCausalLM"), rule, ask)
    if rule == "attribute-code-literal":
        return _pasted(opened, ask)
    if rule.startswith("attribute"):
        return _attribute(opened, rule, ask)
    if rule.startswith("aul"):
        return _unmasked(opened, rule, ask)
    value = _pseudo(opened, rule, ask)
    return round(value, 3) if value is not None and rule == "pll-shared-3" else value


@lru_cache(maxsize=4)
def _open(folder: Path, auto: str) -> Opened:
    model = getattr(_HF, auto).from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    limits = [getattr(model.config, name, None) for name in _POSITIONS]
    window = min((n for n in limits if n and n > 0), default=math.inf)  # XLNet says −1
    if "Roberta" in type(model).__name__:  # its first two positions stand for padding
        window -= 2
    return Opened(model.eval(), _HF.AutoTokenizer.from_pretrained(folder), window)


# --- tokens -------------------------------------------------------------------------------------


def _tokens(opened: Opened, text: str) -> list[int]:
    return list(opened.tokenizer(text, add_special_tokens=False)["input_ids"])


def _touching(opened: Opened, text: str, start: int, end: int) -> list[int]:
    """Which tokens stand for a character from ``start`` up to ``end``."""
    told = opened.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return [n for n, (a, b) in enumerate(told["offset_mapping"]) if a < end and b > start]


def _around(opened: Opened, text: str) -> tuple[list[int], list[int]]:
    """The special tokens before and after a text, as its tokenizer puts them."""
    bare, whole = _tokens(opened, text), list(opened.tokenizer(text)["input_ids"])
    first = next(n for n in range(len(whole)) if whole[n : n + len(bare)] == bare)
    return whole[:first], whole[first + len(bare) :]


def _log_p(logits: Any, token: int) -> float:
    """Of one token, from the logits of shape (vocabulary,)."""
    return float(torch.log_softmax(logits.double(), -1)[token])


@lru_cache(maxsize=4_000)
def _logits(opened: Opened, row: tuple[int, ...], place: int) -> Any:
    """Logits at one place of a row, of shape (vocabulary,), in a forward pass of its own.

    Rules that read the same row share its pass.
    """
    with torch.no_grad():
        return opened.model(torch.tensor([row]), use_cache=False).logits[0, place].clone()


# --- autoregressive models ----------------------------------------------------------------------


def _left_to_right(opened: Opened, rule: str, ask: ScoringRequest) -> float | None:
    ids = _tokens(opened, ask.text)
    before, _ = _around(opened, "a")
    tokenizer = opened.tokenizer
    bos = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if rule == "conditional-chars":
        value = _left_to_right(opened, "conditional", ask)
        return None if value is None else value / len(ask.sentence)
    if rule in ("conditional", "ratio"):
        scored = _touching(opened, ask.text, len(ask.context.rstrip()), len(ask.text))
        if not scored or not ask.sentence.strip():
            return None
        start = before if before or scored[0] > 0 else [bos]
        after_context = _sum(opened, start, ids, scored[0])
        if rule == "conditional" or after_context is None:
            return after_context
        alone = _sum(opened, [bos], _tokens(opened, ask.sentence), 0)
        return None if alone is None else after_context - alone
    if not ids or (rule == "ll-arxiv" and len(ids) == 1):
        return None
    if rule == "ll-shared":
        row = [bos, *ids]
        scored = [n for n in _shared(row, [bos, *_tokens(opened, ask.other)], ask) if n]
        logs = [_log_p(_logits(opened, tuple(row[:n]), -1), row[n]) for n in scored]
        return sum(logs) if logs else None
    if rule == "ll-bos":
        return _sum(opened, [bos], ids, 0)
    rest = _sum(opened, before, ids, 1)
    if rest is None:
        return None
    if rule == "ll-arxiv":
        return rest / (len(ids) - 1)
    first = _sum(opened, [bos], ids[:1], 0)
    assert first is not None
    return first + rest if rule == "ll-acl" else (first + rest) / len(ids)


def _shared(own: list[int], others: list[int], ask: ScoringRequest) -> list[int]:
    """The places of a row that the original finds in the other row, too (``get_span``)."""
    one, two = (others, own) if ask.second else (own, others)
    matcher = difflib.SequenceMatcher(None, list(map(str, one)), list(map(str, two)))
    found = []
    for name, a, a_end, b, b_end in matcher.get_opcodes():
        if name == "equal":
            found += range(b, b_end) if ask.second else range(a, a_end)
    return found


def _sum(opened: Opened, before: list[int], ids: list[int], first: int) -> float | None:
    """Σ log p(xᵢ | before, x₀ … xᵢ₋₁) from i = ``first`` on, each in a forward pass of its own."""
    while len(before) + len(ids) - 1 > opened.window:  # the last token need not be read
        if first < 2 - min(len(before), 1):
            return None
        ids, first = ids[1:], first - 1
    total = 0.0
    for place in range(first, len(ids)):
        total += _log_p(_logits(opened, (*before, *ids[:place]), -1), ids[place])
    return total


# --- masked models, XLNet -----------------------------------------------------------------------


def _attribute(opened: Opened, rule: str, ask: ScoringRequest) -> float | None:
    size = len(ask.attribute)
    pieces = _touching(opened, ask.filled, ask.at, ask.at + size)
    if not pieces or not ask.attribute.strip():
        return None
    ids = _tokens(opened, ask.filled)
    others = {
        place
        for at in ask.also
        for place in _touching(opened, ask.filled, at, at + size)
        if place not in pieces
    }
    found = []
    for k, place in enumerate(pieces):
        row, hidden = list(ids), others | {place}
        if rule == "attribute-acl":
            hidden |= set(pieces[k:])
        else:  # later pieces are absent: the other places move to the left
            gone = len(pieces) - k - 1
            del row[place + 1 : pieces[-1] + 1]
            hidden = {place if n == place else n - gone * (n > place) for n in hidden}
        found.append(_read(opened, row, hidden, place, ids[place]))
    if any(one is None for one in found):
        return None
    values = [one for one in found if one is not None]
    if rule == "attribute-arxiv":
        return sum(values) / len(values)
    return _log_mean(values)


def _log_mean(values: Sequence[float]) -> float:
    """The logarithm of the mean of the probabilities whose logarithms are given."""
    return math.log(sum(math.exp(one) for one in values) / len(values))


def _pasted(opened: Opened, ask: ScoringRequest) -> float | None:
    """As StereoSet's code: pieces of the attribute alone, a mask pasted into the context as text.

    The context may hold several BLANKs, each of which becomes the same; the first mask is read.
    """
    if not ask.attribute.strip():
        return None
    tokenizer = opened.tokenizer
    pieces = tokenizer.encode(ask.attribute, add_special_tokens=False)
    found = []
    for k in range(len(pieces)):
        pasted = f"{tokenizer.decode(pieces[:k])}{tokenizer.mask_token}"
        ids = tokenizer.encode(ask.context.replace("BLANK", pasted), add_special_tokens=True)
        if len(ids) > opened.window:
            return None
        with torch.no_grad():
            logits = opened.model(torch.tensor([ids])).logits[0]
        first = ids.index(tokenizer.mask_token_id)
        found.append(_log_p(logits[first], pieces[k]))
    return _log_mean(found)


def _pseudo(opened: Opened, rule: str, ask: ScoringRequest) -> float | None:
    ids = _tokens(opened, ask.text)
    places: Sequence[int] = range(len(ids))
    if ask.kind == "pair" and rule in ("pll-shared", "pll-shared-3"):
        before, after = _around(opened, "a")
        rows = [[*before, *row, *after] for row in (ids, _tokens(opened, ask.other))]
        places = [n - len(before) for n in _shared(*rows, ask)]
        places = [n for n in places if 0 <= n < len(ids)]
    elif rule == "pll-shared" and ask.kind == "intrasentence":
        own = {n for start, end in ask.fills for n in _touching(opened, ask.text, start, end)}
        places = [n for n in places if n not in own] if own else []
    elif rule == "pll-shared":
        places = _touching(opened, ask.text, 0, len(ask.context))
    words = opened.tokenizer(ask.text, add_special_tokens=False).word_ids(0)
    total = 0.0
    for place in places:
        hidden = {place}
        if rule == "pll-word-l2r" and words[place] is not None:
            hidden |= {n for n in range(place, len(ids)) if words[n] == words[place]}
        found = _read(opened, ids, hidden, place, ids[place], whole=True)
        if found is None:
            return None
        total += found
    return total if places else None


def _unmasked(opened: Opened, rule: str, ask: ScoringRequest) -> float | None:
    """The mean log p of the tokens of a whole text; ``aula`` weighs by attention."""
    before, after = _around(opened, "a")
    row = [*before, *_tokens(opened, ask.text), *after]
    if len(row) > opened.window or len(row) == len(before) + len(after):
        return None
    with torch.no_grad():
        output = opened.model(torch.tensor([row]), output_attentions=rule == "aula")
    values = []
    for place in range(len(before), len(row) - len(after)):
        weight = 1.0
        if rule == "aula":
            heads = torch.cat(output.attentions)  # (layers, heads, attending, tokens)
            weight = float(heads.double().mean(0).mean(0).mean(0)[place])
        values.append(weight * _log_p(output.logits[0, place], row[place]))
    return sum(values) / len(values)


def _read(
    opened: Opened, row: list[int], hidden: set[int], place: int, token: int, *, whole: bool = False
) -> float | None:
    """log p of a token at one place of a row, some of whose places are hidden.

    A row that is too long loses what is left of the place, unless its ``whole`` is scored.
    """
    before, after = _around(opened, "a")
    ids = [opened.tokenizer.mask_token_id if n in hidden else id for n, id in enumerate(row)]
    gone = max(0, len(before) + len(ids) + len(after) - int(min(opened.window, 10**6)))
    if gone > place or (gone and whole):
        return None
    ids = [*before, *ids[gone:], *after]
    at = len(before) + place - gone
    if "XLNet" not in type(opened.model).__name__:
        return _log_p(_logits(opened, tuple(ids), at), token)
    return _log_p(_hidden_logits(opened, tuple(ids), frozenset(hidden), at), token)


@lru_cache(maxsize=2_000)
def _hidden_logits(opened: Opened, row: tuple[int, ...], hidden: frozenset[int], place: int) -> Any:
    """The same for XLNet: no position sees what is hidden."""
    sight, target = torch.zeros(1, len(row), len(row)), torch.zeros(1, 1, len(row))
    for n in hidden:
        sight[0, :, n] = 1
    target[0, 0, place] = 1
    types = torch.tensor([[0] * (len(row) - 1) + [2]])  # <cls> is a segment of its own
    with torch.no_grad():
        ids = torch.tensor([row])
        told = {"perm_mask": sight, "target_mapping": target, "token_type_ids": types}
        return opened.model(ids, **told).logits[0, 0].clone()


# --- encoder-decoder models ---------------------------------------------------------------------


def _infill(opened: Opened, ask: ScoringRequest) -> float | None:
    """The attribute's tokens are taken out of the filled context, and asked of the decoder."""
    size = len(ask.attribute)
    if not ask.attribute.strip():
        return None
    ids = _tokens(opened, ask.filled)
    blanks = [_touching(opened, ask.filled, at, at + size) for at in sorted([ask.at, *ask.also])]
    first = blanks[0]
    if not first:
        return None
    known = opened.tokenizer.get_vocab()
    marks = [known.get(f"<extra_id_{n}>", opened.tokenizer.mask_token_id) for n in range(9)]
    shown: list[int] = []
    for place, token in enumerate(ids):
        blank = next((n for n, blank in enumerate(blanks) if place in blank), None)
        if blank is None:
            shown.append(token)
        elif place == blanks[blank][0]:
            shown.append(marks[blank])
    if "<extra_id_0>" in known:
        answer = [marks[0], *(ids[n] for n in first)]
        return _decoded(opened, shown, answer, 1, keep=shown.index(marks[0]))
    before, _ = _around(opened, "a")
    answer = [*before, *_tokens(opened, ask.sentence)]
    return _decoded(opened, shown, answer, len(before), keep=shown.index(marks[0]))


@lru_cache(maxsize=100)
def _answer(opened: Opened, ask: ScoringRequest) -> float | None:
    if not _tokens(opened, ask.sentence) or not ask.sentence.strip():
        return None
    before, _ = _around(opened, "a")
    context = _tokens(opened, ask.context)
    answer = [*before, *_tokens(opened, ask.sentence)]
    return _decoded(opened, context, answer, len(before), keep=len(context))


def _decoded(
    opened: Opened, shown: list[int], answer: list[int], first: int, *, keep: int
) -> float | None:
    """Σ log p of the decoder's tokens from ``first`` on; ``keep`` tokens shown may be cut away."""
    before, after = _around(opened, "a")
    gone = max(0, len(before) + len(shown) + len(after) - int(min(opened.window, 10**6)))
    if gone > keep or len(answer) > opened.window:
        return None
    shown = [*before, *shown[gone:], *after]
    start = opened.model.config.decoder_start_token_id
    if start is None:  # mBART starts with the token of the language, which ends its texts
        start = after[-1]
    total = 0.0
    for place in range(first, len(answer)):
        with torch.no_grad():
            logits = opened.model(
                encoder_outputs=_encoded(opened, tuple(shown)),
                decoder_input_ids=torch.tensor([[start, *answer[:place]]]),
            ).logits[0, -1]
        total += _log_p(logits, answer[place])
    return total


@lru_cache(maxsize=100)
def _encoded(opened: Opened, shown: tuple[int, ...]) -> Any:
    with torch.no_grad():
        return opened.model.get_encoder()(torch.tensor([shown]))


# --- next sentence ------------------------------------------------------------------------------


def _next_sentence(opened: Opened, ask: ScoringRequest) -> float:
    """Under BERT's own head: its first output says that the second text follows the first."""
    told = opened.tokenizer(ask.context, ask.sentence, return_tensors="pt")
    with torch.no_grad():
        logits = opened.model(**told).logits[0]
    return _log_p(logits, 0)
