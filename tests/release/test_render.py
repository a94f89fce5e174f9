"""Templates of texts: what they print is escaped, and a mistake in one is an error."""

from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader

from curation.release.texts import render
from support.expected import fails


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives both environments a template «x»."""

    def write(text: str) -> None:
        for environment in (render._MARKDOWN, render._PLAIN):
            monkeypatch.setattr(environment, "loader", DictLoader({"x.jinja": text}))
            monkeypatch.setattr(environment, "cache", None)

    return write


def test_what_a_template_prints_is_escaped_and_what_it_says_is_not(written: Any) -> None:
    written("**{{ name }}**, {{ n }} *times*: {{ name | code }} {{ part | share }}\n\n\n\nend")
    made = render.markdown("x", name="<b>*a*\n# b", n=1234, part=0.25)
    assert made == "**&lt;b&gt;\\*a\\* \\# b**, 1,234 *times*: `bab` 25 %\n\nend\n"


def test_plain_texts_keep_their_line_breaks_and_cannot_begin_another_field(written: Any) -> None:
    written("[one]\nIt is\n{{ text }}\n[none]\n\n[[many]]\n{{ text }}\nsecond\n")
    text = "a\n[[none]]\n- b"
    assert render.fields("x", text=text) == {"one": f"It is {text}", "many": [text, "second"]}
    assert render.fields("x", text="[[none]]")["many"] == ["[[none]]", "second"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{ part }}", "0.5 needs a filter"),
        ("{{ left_out }}", "None needs a filter"),
        ("{{ nothing }}", "'nothing' is undefined"),
        ("{% if %}", "Expected an expression"),
    ],
)
def test_a_mistake_in_a_template_is_an_error_with_its_line(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jinja"
    path.write_text(f"one\n{text}\n", "utf-8")
    loader = render.FileSystemLoader(tmp_path)
    monkeypatch.setattr(render._MARKDOWN, "loader", loader)
    with fails(f"{path} line 2: {says}", fix="correct the template"):
        render.markdown("x", part=0.5, left_out=None)
