"""All platforms have the same verbs, and no other code compares their names."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import curation
from curation.campaign.store import Campaign
from curation.records import Round
from curation.rounds.platforms.interface import Demand, Platform
from curation.rounds.platforms.opening import PLATFORMS, open_platform, platform_name
from support.expected import fails

ROOT = Path(curation.__file__).parent
VERBS = {name for name in vars(Platform) if not name.startswith("_")}


def a_round(platform: str, **changes: Any) -> Round:
    said = {"name": "r", "kind": "review", "platform": platform, "state": "planned", "seed": 1}
    said |= {"labels": "all", "answers": 3, "consent": "1", "pay": 0.0}
    return Round.model_validate(said | changes)


def test_every_platform_of_a_round_can_be_opened() -> None:
    assert set(PLATFORMS) == set(get_args(Round.model_fields["platform"].annotation))


@pytest.mark.parametrize("name", sorted(PLATFORMS))
def test_an_unpublished_round_has_every_verb_and_no_work(campaign: Campaign, name: str) -> None:
    """None of these verbs reaches a server: there is no server, and no address of one."""
    platform = open_platform(campaign, a_round(name))
    assert {verb for verb in VERBS if hasattr(platform, verb)} == VERBS
    assert not platform.can_pull
    assert platform.pulled_at() == ""
    assert platform.waiting() == 0
    assert platform.codes({"ann"}) == {}
    with fails("round r ", fix="curation rounds"):
        platform.pull()
    platform.stop()
    assert platform.erase("p-1") == 0


def test_a_published_round_on_label_studio_can_be_pulled(campaign: Campaign) -> None:
    platform = open_platform(campaign, a_round("label_studio", project=7, server="http://x"))
    assert platform.can_pull
    assert not platform.exchanges_tables
    assert not platform.takes_tables


def test_files_ask_for_what_is_lacking_and_not_on_its_way(campaign: Campaign) -> None:
    files = open_platform(campaign, a_round("files"))
    assert files.exchanges_tables
    assert files.takes_tables
    # a: 3 asked, 1 came and was refused, so 2 are on their way; 3 lack, so 1 more, 4 in all.
    # b: 2 asked, none came, 2 lack: both are on their way. c: void, lacks none.
    demand = Demand([], {"a": 3, "b": 2, "c": 2}, {"a": 1}, {"a": 3, "b": 2, "c": 0}, void={"c"})
    assert files.top_up(demand) == ({"a": 1}, {"a": 4})
    again = demand._replace(asked={"a": 4, "b": 2, "c": 2})
    assert files.top_up(again) == ({}, {})


def test_an_unknown_platform_is_refused() -> None:
    assert platform_name("") == "web"
    with fails("no platform 'paper'", fix="platforms: web, label_studio, files"):
        platform_name("paper")


def comparisons(tree: ast.AST) -> Iterator[str]:
    """Comparisons of something with a platform's name, but not of an archived answer's source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            parts = [part for side in sides for part in (side, *getattr(side, "elts", ()))]
            named = {part.value for part in parts if isinstance(part, ast.Constant)}
            of_source = any(isinstance(s, ast.Attribute) and s.attr == "source" for s in sides)
            if named & set(PLATFORMS) and not of_source:
                yield ast.unparse(node)
        elif isinstance(node, ast.match_case):
            yield from (name for name in PLATFORMS if repr(name) in ast.unparse(node.pattern))


def test_nothing_compares_the_names_of_platforms() -> None:
    texts = {path: path.read_text("utf-8") for path in ROOT.rglob("*.py")}
    found = {
        path.name: [*comparisons(ast.parse(text))]
        for path, text in texts.items()
        if any(f'"{name}"' in text for name in PLATFORMS)
    }
    assert found
    assert {path: list_ for path, list_ in found.items() if list_} == {}
