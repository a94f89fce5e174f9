"""A check of what we build has no blocking finding, and only findings that a team can act on."""

from pathlib import Path

import pytest

from curation.release import build
from curation.release.anonymous import anonymous
from curation.release.check import check
from curation.release.contents import Contents
from curation.release.facts import Facts, Hidden
from support import releases

ACTIONS = {"pitfalls", "baseline", "open_question", "card_incomplete", "near_repeat"}
"""Findings about texts and answers of the team; everything else would be a fault of the build."""


def write(folder: Path, contents: Contents, facts: Facts) -> Path:
    for name, content in build.files(contents, facts).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("form", ["open", "hidden", "anonymous"])
def test_the_samples_have_no_blocking_finding(form: str, tmp_path: Path) -> None:
    contents, facts = releases.contents(), releases.facts()
    if form == "hidden":
        contents = releases.hidden(contents)
        number = sum(cat.commitment is not None for cat in contents.cats)
        about = Hidden(split="test", cats=number, terms=2)
        facts = releases.facts(
            hidden=about, scores=(), agreement=(), tiers={"4": 2, "5": 1, "unknown": 1}
        )
        facts = facts.model_copy(update={"annotations": len(contents.annotations)})
    if form == "anonymous":
        facts = anonymous(facts)
    _, findings = check(write(tmp_path / "1.0.0", contents, facts))
    assert not [f for f in findings if f.severity == "block"]


@pytest.mark.parametrize("name", ["example_release", "example_hidden", "example_anonymous"])
def test_built_releases_of_the_example(
    demo: object, request: pytest.FixtureRequest, name: str
) -> None:
    _, findings = check(request.getfixturevalue(name))
    assert {f.code for f in findings if f.severity != "note"} <= ACTIONS


@pytest.mark.parametrize("name", ["arabic_release", "japanese_release"])
def test_built_releases_in_other_languages(request: pytest.FixtureRequest, name: str) -> None:
    _, findings = check(request.getfixturevalue(name))
    assert {f.code for f in findings if f.severity != "note"} <= ACTIONS
