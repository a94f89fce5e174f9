"""The errors of real servers are told apart. The texts are those that the servers send."""

import re

import pytest

from curation.models.endpoint.connection import (
    FILTERED,
    LARGE_MAX_TOKENS,
    NO_CHAT,
    NO_TEMPLATE,
    WRONG_MODEL,
    error_in,
    gist,
    words,
)
from curation.models.endpoint.echoes import TOO_LONG

ALL = (FILTERED, WRONG_MODEL, NO_CHAT, NO_TEMPLATE, LARGE_MAX_TOKENS, TOO_LONG)
TEXTS: list[tuple[str, re.Pattern[str] | None]] = [
    # parameters
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        None,
    ),
    (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
        "value is supported.",
        None,
    ),
    ("deepseek-reasoner does not support the parameter `logprobs`", None),
    ("Extra inputs are not permitted", None),
    ("you are not allowed to request logprobs from this model", None),
    ("logprobs is not available for this model", None),
    ("the chat completions endpoint does not support logprobs", None),
    ("logprobs is not supported for chat completions", None),
    ("Requested sample logprobs of 20, which is greater than max allowed: 5", None),
    # filters
    ("Your request was rejected as a result of our safety system.", FILTERED),
    ("400 SAFETY", FILTERED),
    ("the prompt triggered Azure OpenAI's content management policy", FILTERED),
    ("content_filter ResponsibleAIPolicyViolation", FILTERED),
    ("Input data may contain inappropriate content. data_inspection_failed", FILTERED),
    ("Content Exists Risk", FILTERED),
    ("Invalid prompt: your prompt was flagged as potentially violating our policy.", FILTERED),
    # models
    ("The model `huge` does not exist or you do not have access to it.", WRONG_MODEL),
    ("model 'huge:8b' not found, try pulling it first", WRONG_MODEL),
    ("Model Not Exist", WRONG_MODEL),
    ("Invalid model: huge", WRONG_MODEL),
    ("huge is not a valid model ID", WRONG_MODEL),
    ("Invalid model name passed in model=huge", WRONG_MODEL),
    # chat
    (
        "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
        NO_CHAT,
    ),
    ("The chatCompletion operation does not work with the specified model, davinci", NO_CHAT),
    ('"nomic-embed-text" does not support chat', NO_CHAT),
    ("The model does not support Chat Completions API", NO_CHAT),
    (
        "As of transformers v4.44, default chat template is no longer allowed, so you must provide "
        "a chat template if the tokenizer does not define one.",
        NO_TEMPLATE,
    ),
    # limits
    (
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
        "whereas you provided 100000.",
        LARGE_MAX_TOKENS,
    ),
    (
        "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for "
        "`max_completion_tokens` is less than the `context_window` for this model",
        LARGE_MAX_TOKENS,
    ),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", LARGE_MAX_TOKENS),
    (
        "This model's maximum context length is 96 tokens. However, you requested 130 tokens (66 "
        "in the messages, 64 in the completion).",
        TOO_LONG,
    ),
    ("the request exceeds the available context size, try increasing it", TOO_LONG),
]


@pytest.mark.parametrize(("text", "pattern"), TEXTS)
def test_each_error_is_of_one_sort(text: str, pattern: re.Pattern[str] | None) -> None:
    found = {each for each in ALL if each.search(text)}
    if pattern is LARGE_MAX_TOKENS:  # it is looked for before TOO_LONG
        found.discard(TOO_LONG)
    assert found == ({pattern} if pattern else set())


def test_words_of_an_error_leave_out_what_it_repeats_of_the_request() -> None:
    body = {"detail": [{"type": "extra", "msg": "not permitted", "input": {"content": "flagged"}}]}
    assert words(body) == "not permitted extra"
    azure = {"error": {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}
    assert FILTERED.search(words(azure))
    assert FILTERED.search(words({"error": {"code": 400, "status": "SAFETY"}}))
    assert words(None) == words(3.5) == words({}) == ""


def test_gist_and_error_of_odd_contents() -> None:
    assert gist([{"error": {"message": "blocked"}}]) == "blocked"
    assert gist({"message": " two\n lines "}) == "two lines"
    assert gist("x" * 300) == "x" * 200 + "…"
    odd = ({}, [], None, 1, {"choices": None}, {"choices": []}, {"choices": [1]}, {"error": None})
    for content in odd:
        assert error_in(content) is None
    assert error_in({"error": "no"}) == "no"
