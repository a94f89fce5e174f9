"""The page docs/first-campaign.md is followed literally, from an idea to a checked release.

Its commands are run in order, its files are written and changed as it says, and what it shows of
the output is compared. Where it says that people work, made-up people work on the running pages.
Nothing else happens.
"""

import re
import shlex
from contextlib import ExitStack
from pathlib import Path

import pytest
import tomlkit

from support.campaign_people import Crowd
from support.commands import run
from support.guides import change, commands, compare
from support.serving import serving

PAGE = (Path(__file__).parents[1] / "docs/first-campaign.md").read_text("utf-8")
COME = 16
"""How many of the people who are sent a link come."""
PART = re.compile(
    r"(?:^(?P<verb>Write|Change in) `(?P<file>[^`]+)`:\n\n)?"
    r"^```(?P<sort>\w*)\n(?P<text>.*?)^```$|^\*\*People work now\.\*\*",
    re.MULTILINE | re.DOTALL,
)


class Reader:
    """Somebody who does what the page says, and nothing else."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self.folder, self.patch, self.stack = folder, patch, stack
        self.crowd: Crowd | None = None
        self.said = ""

    def follow(self, part: re.Match[str]) -> None:
        match part["sort"], part["verb"]:
            case None, None:
                assert self.crowd, "the pages run when people work"
                assert self.crowd.work()
            case "sh", None:
                self.said = "".join(map(self.command, commands(part["text"])))
            case "", None:
                compare(part["text"], self.said)
            case _, "Write":
                path = self.folder / part["file"]
                path.parent.mkdir(exist_ok=True)
                path.write_text(part["text"], "utf-8")
            case "toml", "Change in":
                path = self.folder / part["file"]
                there = tomlkit.parse(path.read_text("utf-8"))
                change(there, tomlkit.parse(part["text"]))
                path.write_text(tomlkit.dumps(there), "utf-8")
            case _:
                raise AssertionError(f"the page does not say what to do with {part[0]}")

    def command(self, words: list[str]) -> str:
        """Run a command line; what it prints."""
        if words[0] == "cd":
            self.folder /= words[1]
            self.patch.chdir(self.folder)
            return ""
        assert words[0] == "curation"
        if words[1:] == ["rounds", "serve"]:
            server = self.stack.enter_context(serving(*words[1:], cwd=self.folder))
            self.crowd = Crowd(self.folder, server.port, COME)
            return server.said
        ran = run(*words[1:])
        print(f"$ {shlex.join(words)}\n{ran.out}{ran.err}")  # shown if the test fails
        assert ran.code == 0, f"{words}: {ran.err}"
        return ran.out + ran.err


@pytest.mark.long
def test_the_page_leads_from_an_idea_to_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = list(PART.finditer(PAGE))
    assert len(parts) == PAGE.count("\n```") // 2 + PAGE.count("\n**People work now.**")
    with ExitStack() as stack:
        reader = Reader(tmp_path, monkeypatch, stack)
        for part in parts:
            reader.follow(part)
        assert reader.crowd


def test_what_is_shown_and_was_not_printed_is_seen() -> None:
    compare("a  b\nd … f 1\n", "x\n│a b│\n a b\nc\nd e f 1\n")
    for shown in ("b a\n", "d\na b\n", "d … f 2\n", "a\n1\n"):
        with pytest.raises(AssertionError, match="not printed"):
            compare(shown, "a b\nd e f 11\n")
