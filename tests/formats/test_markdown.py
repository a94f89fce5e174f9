"""Foreign texts in a release's README are shown as they are: no markup, no HTML, no new rows."""

from itertools import pairwise
from typing import Any

import pytest
from markdown_it import MarkdownIt

from curation.formats.markdown import inline

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "a | b", "`code` and ``two``", "[a link](https://example.org)", "![a picture](x.png)",
    "<script>alert(1)</script>", "<https://example.org>",
    "*bold* **bolder** _slanted_ __thick__ snake_case ~~gone~~", "# heading #", "- item", "+ item",
    "1. item", "2) item", "=", "> quote", "&amp; &#35; AT&T", "a\\|b\\",
    "ends in a backslash\\", "one\ntwo\r\n\n# three", "| a | b |\n|---|---|",
    "[ref]: https://example.org", "{{ template }} $x^2$", "plain text, 100 %",
]  # fmt: skip


def texts_of(tokens: Any) -> list[tuple[str, str]]:
    """The inline content of a document: the kind of block, and its text."""
    found = []
    for before, token in pairwise(tokens):
        if token.type == "inline":
            kinds = {child.type for child in token.children}
            assert kinds <= {"text", "text_special", "softbreak", "code_inline"}, token.content
            found.append((before.type, "".join(child.content for child in token.children)))
    return found


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    ("document", "kind"),
    [("{}", "paragraph_open"), ("# {}", "heading_open"), ("| {} | 1 |\n|---|---|\n", "th_open")],
)
def test_a_text_is_shown_as_it_is(text: str, document: str, kind: str) -> None:
    found = texts_of(PARSER.parse(document.replace("{}", inline(text))))
    assert found[0] == (kind, " ".join(text.split()))  # one line without control characters
    assert len(found) == (2 if kind == "th_open" else 1)


def test_ordinary_names_are_not_changed_but_for_controls() -> None:
    for name in ("Mild example", "CC BY-SA 4.0", "0.1.0", "Étnia, kor és vallás", "snake_case",
                 "A & B"):  # fmt: skip
        assert inline(name) == name
    # Controls are removed.
    assert inline("a\u202eb\u2066c\x07d\x00") == "abcd"
