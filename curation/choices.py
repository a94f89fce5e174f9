"""The records of models that are asked in words: their replies, and the comparisons read from them.

A chat model is asked which of two associations of a CAT is more natural, with each of the two shown
first once. ``replies.jsonl`` of a run has every reply as it came, ``comparisons.jsonl`` what
follows from them.
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from curation.records import Id, Record, Timestamp

Pair = Literal["stereotype/unrelated", "anti-stereotype/unrelated", "stereotype/anti-stereotype"]
Share = Annotated[float, Field(ge=0, le=1)]

PAIRS: tuple[Pair, ...] = get_args(Pair)
"""The three comparisons of a CAT, in the order of ``metrics.judge``: the first two make lms, the
third makes ss."""


class Reply(Record):
    """A line of ``replies.jsonl``: one answer of a model, as it came. Lines are never changed.

    ``swapped``: the second association of the pair was shown first. ``prompt`` is the name of the
    prompt, and ``sample`` counts from 0 if a question is asked several times. ``asked`` is a digest
    of the text that was sent. ``status`` is the HTTP status, and 0 for a model on this machine or
    if there was no response. ``body`` is the reply.
    """

    cat: Id
    pair: Pair
    swapped: bool
    prompt: Id
    sample: Annotated[int, Field(ge=0)]
    asked: str
    at: Timestamp
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    status: Annotated[int, Field(ge=0)]
    body: dict[str, Any]


class Comparison(Record):
    """A line of ``comparisons.jsonl``: one of the three comparisons of a CAT.

    A replicate is one prompt in one sample, asked in both orders. ``won`` is the share of
    replicates in which the first association of the pair was preferred. ``split`` is the share in
    which neither was, because the answer changed with the order. ``p`` is the mean probability of
    the first association; None if the model gave no probabilities. ``asked`` is a digest of the
    CAT's texts.
    """

    model: Id
    rule: Id
    cat: Id
    pair: Pair
    won: Share
    split: Share
    p: Share | None = None
    replicates: Annotated[int, Field(ge=1)]
    asked: str


ON_DISK: tuple[type[Record], ...] = (Reply, Comparison)
