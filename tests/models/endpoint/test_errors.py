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

SORTS: dict[re.Pattern[str] | None, tuple[str, ...]] = {
    None: (  # parameters
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
        "value is supported.",
        "deepseek-reasoner does not support the parameter `logprobs`",
        "Extra inputs are not permitted",
        "you are not allowed to request logprobs from this model",
        "logprobs is not available for this model",
        "the chat completions endpoint does not support logprobs",
        "logprobs is not supported for chat completions",
        "Requested sample logprobs of 20, which is greater than max allowed: 5",
    ),
    FILTERED: (
        "Your request was rejected as a result of our safety system.",
        "400 SAFETY",
        "the prompt triggered Azure OpenAI's content management policy",
        "content_filter ResponsibleAIPolicyViolation",
        "Input data may contain inappropriate content. data_inspection_failed",
        "Content Exists Risk",
        "Invalid prompt: your prompt was flagged as potentially violating our policy.",
    ),
    WRONG_MODEL: (
        "The model `huge` does not exist or you do not have access to it.",
        "model 'huge:8b' not found, try pulling it first",
        "Model Not Exist",
        "Invalid model: huge",
        "huge is not a valid model ID",
        "Invalid model name passed in model=huge",
    ),
    NO_CHAT: (
        "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
        "The chatCompletion operation does not work with the specified model, davinci",
        '"nomic-embed-text" does not support chat',
        "The model does not support Chat Completions API",
    ),
    NO_TEMPLATE: (
        "As of transformers v4.44, default chat template is no longer allowed, so you must provide "
        "a chat template if the tokenizer does not define one.",
    ),
    LARGE_MAX_TOKENS: (
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
        "whereas you provided 100000.",
        "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for "
        "`max_completion_tokens` is less than the `context_window` for this model",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    ),
    TOO_LONG: (
        "This model's maximum context length is 96 tokens. However, you requested 130 tokens (66 "
        "in the messages, 64 in the completion).",
        "the request exceeds the available context size, try increasing it",
    ),
}


@pytest.mark.parametrize(("sort", "text"), [(sort, text) for sort in SORTS for text in SORTS[sort]])
def test_each_error_is_of_one_sort(sort: re.Pattern[str] | None, text: str) -> None:
    found = {each for each in SORTS if each and each.search(text)}
    if sort is LARGE_MAX_TOKENS:  # it is looked for before TOO_LONG
        found.discard(TOO_LONG)
    assert found == ({sort} if sort else set())


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
    assert [error_in(content) for content in odd] == [None] * len(odd)
    assert error_in({"error": "no"}) == "no"
