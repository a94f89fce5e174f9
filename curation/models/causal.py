"""The rules for autoregressive models (the contract is in ``curation.models.rules``)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from curation.models.forward import Runner, Text
from curation.models.rules import (
    OF_ASSOCIATIONS,
    OF_PAIRS,
    OF_TEXTS,
    Refusal,
    Scored,
    ScoringRequest,
    not_computed,
)
from curation.models.tokens import Tokens, shared_places, start_token, surround, tokenize


class Sum(NamedTuple):
    """How a score is computed: a sum over texts, divided by ``by``.

    Attributes:
        texts: the texts; the log-probabilities read from each are added up.
        less: the number of texts at the end that are subtracted instead.
        by: the divisor.
    """

    texts: list[Text]
    less: int = 0
    by: int = 1


def score(runner: Runner, rule: str, requests: Sequence[ScoringRequest]) -> list[Scored]:
    """Scores of associations under a rule, in natural logarithms.

    Args:
        runner: a causal model.
        rule: one of the contract's rules for causal models, except nsp.
        requests: the associations.

    Raises:
        CurationError: the rule is another one, the tokenizer does not have what it needs, or
            memory ran out.
    """
    plans = _plans(runner, rule, requests)
    texts = [text for plan in plans if isinstance(plan, Sum) for text in plan.texts]
    values = iter(runner.log_probs(texts))
    scores: list[Scored] = []
    for plan in plans:
        if isinstance(plan, Refusal):
            scores.append(plan)
            continue
        sums = [float(next(values).sum()) for _ in plan.texts]
        kept = len(sums) - plan.less
        scores.append(finite((sum(sums[:kept]) - sum(sums[kept:])) / plan.by))
    return scores


def finite(value: float) -> Scored:
    """The value as a score, or a refusal if it is not finite."""
    if abs(value) < float("inf"):
        return value
    return Refusal("not_finite", f"the score is {value}; a larger --dtype may help")


def _plans(runner: Runner, rule: str, requests: Sequence[ScoringRequest]) -> list[Sum | Refusal]:
    tokenizer, window = runner.loaded.tokenizer, runner.loaded.window
    before = surround(tokenizer)[0]
    wholes = tokenize(tokenizer, [each.text for each in requests])
    sentences = wholes
    if rule == "ratio":
        sentences = tokenize(tokenizer, [each.sentence for each in requests])
    if rule in OF_PAIRS:
        sentences = tokenize(tokenizer, [each.other for each in requests])
    plans: list[Sum | Refusal] = []
    for request, whole, sentence in zip(requests, wholes, sentences, strict=True):
        plan = _plan(tokenizer, before, rule, request, whole, sentence)
        if isinstance(plan, Sum):
            fitted = [_fit(text, window, len(before)) for text in plan.texts]
            plan = plan._replace(texts=[text for text in fitted if text is not None])
            if len(plan.texts) < len(fitted):
                plan = Refusal("too_long", f"{len(whole.ids)} tokens, the window is {window}")
        plans.append(plan)
    return plans


def _plan(
    tokenizer: Any,
    before: list[int],
    rule: str,
    request: ScoringRequest,
    whole: Tokens,
    sentence: Tokens,  # alone; for OF_PAIRS, the other sentence of the pair
) -> Sum | Refusal:
    ids, missing = whole.ids, Refusal("nothing_to_score", "no token to score")
    if rule in OF_ASSOCIATIONS:
        first = min(
            whole.touching([(len(request.context.rstrip()), len(request.text))]), default=None
        )
        if first is None or not request.sentence.strip():
            return missing
        start = before or ([] if first else [start_token(tokenizer)])
        texts = [_after(start, ids, first)]
        if rule == "ratio":
            texts.append(_after([start_token(tokenizer)], sentence.ids, 0))
        by = request.characters if rule == "conditional-chars" else 1
        return Sum(texts, less=len(texts) - 1, by=by)
    if rule == "ll-shared":
        start = [start_token(tokenizer)]
        places = shared_places(ids, sentence.ids, around=(start, []), second=request.second)
        text = Text([*start, *ids], [(place, ids[place]) for place in places])
        return Sum([text]) if places else missing
    if rule not in OF_TEXTS:
        raise not_computed(rule, OF_TEXTS + OF_PAIRS + OF_ASSOCIATIONS)
    if not ids or (rule == "ll-arxiv" and len(ids) < 2):
        return missing
    if rule == "ll-bos":
        return Sum([_after([start_token(tokenizer)], ids, 0)])
    rest = [_after(before, ids, 1)]
    if rule == "ll-arxiv":
        return Sum(rest, by=len(ids) - 1)
    return Sum(
        [_after([start_token(tokenizer)], ids[:1], 0), *rest],
        by=len(ids) if rule == "ll-code" else 1,
    )


def _after(before: list[int], ids: list[int], first: int) -> Text:
    """A text in which every token from ``first`` on is read at the position before it."""
    whole = before + ids
    return Text(
        whole, [(place - 1, whole[place]) for place in range(len(before) + first, len(whole))]
    )


def _fit(text: Text, window: int | None, keep: int) -> Text | None:
    """The text without surplus tokens at its left; None if one of these must be scored."""
    over = max((place for place, _ in text.reads), default=0) + 1 - (window or 10**9)
    if over <= 0:
        return text
    if text.reads[0][0] < keep + over:
        return None
    return Text(
        [*text.ids[:keep], *text.ids[keep + over :]],
        [(place - over, token) for place, token in text.reads],
    )
