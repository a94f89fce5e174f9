"""The budget of values about hidden gold labels, and the ledger of those that were given out."""

import json
import shutil
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from release.test_hidden import drawn, facts, hide, made

from curation.campaign.manifest import Results
from curation.campaign.store import Campaign
from curation.campaign.versions import LEDGER, History, gold_file
from curation.files import dump_json, dump_line
from curation.release import hiding as hidden
from curation.release.checking import check
from curation.released import commitments as scheme
from curation.released import numbers
from curation.released.commitments import HiddenGold
from curation.released.contents import Contents
from curation.released.facts import Baseline, Facts, ScoreRow
from curation.released.numbers import GivenOut, budget, fingerprint, share_out, values_left
from curation.work.reporter import QUIET
from support import releases
from support.expected import fails, has
from support.labelled import Desk
from support.written import read

quiet = pytest.mark.filterwarnings("ignore:.*about hidden gold labels")


def value(version: str, name: str, golds: Sequence[HiddenGold], value: str = "ss 60") -> GivenOut:
    return GivenOut(version=version, cats=fingerprint(golds), name=name, value=value)


def golds_of(count: int, seed: int = 0) -> list[HiddenGold]:
    """The hidden half of that many CATs, in the order of the campaign."""
    return sorted(hide(made(count), seed)[1], key=lambda gold: gold.original)


# --- the budget -----------------------------------------------------------------------------------


def test_other_public_ids_are_the_same_cats_and_another_label_makes_other_ones() -> None:
    golds = golds_of(20)
    assert fingerprint(golds) == fingerprint(golds_of(20, seed=5)[::-1])
    first, second, third = golds[0].sentences
    labels = {"gold_label": second.gold_label}, {"gold_label": first.gold_label}
    turned = (first.model_copy(update=labels[0]), second.model_copy(update=labels[1]), third)
    other = [golds[0].model_copy(update={"sentences": turned}), *golds[1:]]
    assert fingerprint(other) != fingerprint(golds)


def test_a_value_counts_for_every_version_that_shares_a_cat() -> None:
    golds = golds_of(2400)
    old, new, far = golds[:600], golds[500:1200], golds[700:1200]
    assert (budget(600, 400), budget(700, 400), budget(500, 400)) == (3, 3, 2)
    given = [value("1", "model a", old), value("1", "model b", old)]
    assert values_left("1", {"1": old}, given, dev=400) == 1
    assert values_left("2", {"1": old, "2": new}, given, dev=400) == 1
    assert values_left("2", {"1": old, "2": far}, given, dev=400) == 2
    smaller = {"1": old, "2": new, "3": far}  # a value on the second counts for the others, too
    assert values_left("2", smaller, [*given, value("3", "model c", far)], dev=400) == 0
    assert values_left("1", smaller, [*given, value("2", "model c", new)], dev=400) == 0


def test_a_value_whose_gold_file_is_lost_counts_for_every_version() -> None:
    golds = golds_of(1200)
    lost = [value("0", "model a", golds_of(20))]
    assert values_left("1", {"1": golds}, lost, dev=400) == budget(600, 400) - 1


def test_what_was_given_out_costs_nothing_and_the_first_new_values_are_shown() -> None:
    golds = golds_of(20)
    a, b, c = (value("1", name, golds) for name in "abc")
    later = [value("2", name, golds) for name in "cab"]
    assert share_out(later, [a], 1) == ([later[0], later[1]], [later[2]])
    assert share_out(later, [a, b, c], -2) == (later, [])
    assert share_out(later, [], -2) == ([], later)
    rescored = value("2", "a", golds, "ss 61")
    assert share_out([rescored], [a], 0) == ([], [rescored])


# --- a build --------------------------------------------------------------------------------------


def row(model: str, ss: float, split: str = "test", **fields: Any) -> ScoreRow:
    about = {"rules": "default", "split": split, "cats": 400, "terms": 9, "lms": 80.0, "icat": 70.0}
    return releases.score(model=model, ss=ss, ss_ci=(ss - 9, ss + 9), **about, **fields)


def full() -> Facts:
    """The facts with values of three models, of two baselines, and of sentiment."""
    models = tuple(row(model, 50.0 + n) for n, model in enumerate(("a", "b", "c")))
    beyond = ("ss 61.0 (52.0–70.0), intrasentence, test", "lms 60.0 (52.0–70.0), both, dev")
    words = Baseline(model="Words", beyond=beyond, rows=(row("Words", 61.0),))
    ideal = Baseline(model="IdealLM", rows=(row("IdealLM", 50.0),))
    dev = tuple(row(model, 50.0 + n, "dev") for n, model in enumerate(("a", "b", "c")))
    return facts().model_copy(update={"scores": (*dev, *models), "baselines": (words, ideal)})


def built(campaign: Campaign, contents: Contents, of: Facts, version: str = "0.1.0") -> Facts:
    """The public facts of a version; its gold file and the ledger are written."""
    release = campaign.settings.release.model_copy(update={"version": version, "hide": "labels"})
    opened = replace(campaign, settings=campaign.settings.model_copy(update={"release": release}))
    path = gold_file(campaign, version)
    golds = scheme.assign(contents.part("test"), drawn(0), sealed=False)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(map(dump_line, golds)))
    public = scheme.conceal(contents, golds, "test")
    results = Results(campaign.folder("release"))
    made = hidden.public_facts(History(opened), of, public, golds, results, QUIET)
    results.commit()
    return made


def shown(of: Facts) -> list[str]:
    return [r.model for r in of.scores if r.split == "test" and r.ss is not None]


def test_a_build_publishes_what_is_allowed_and_says_what_it_left_out(campaign: Campaign) -> None:
    with pytest.warns(UserWarning, match=r"1 value about .* model c \(default\)"):
        public = built(campaign, made(800), full())
    assert shown(public) == ["a", "b"]
    assert [r.lms for r in public.scores] == [80.0] * 6  # lms says nothing of the order
    assert [r.ss for r in public.scores if r.split == "dev"] == [50.0, 51.0, 52.0]
    words, ideal = public.baselines
    assert (words.rows[0].ss, words.rows[0].icat) == (None, None)
    assert words.beyond == full().baselines[0].beyond[1:]
    assert ideal.rows[0].ss == 50.0  # whatever the gold labels are
    assert public.sentiment == ()
    assert public.hidden is not None
    assert public.hidden.left_out == ("model c (default)", "baseline Words", "sentiment")
    lines = History(campaign).ledger
    assert [line.name for line in lines] == ["model a (default)", "model b (default)"]
    path = campaign.folder("release") / LEDGER
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert numbers.too_much(public) == []


@quiet
def test_the_budget_belongs_to_the_cats_and_not_to_a_version(campaign: Campaign) -> None:
    contents = made(800)
    built(campaign, contents, full())
    assert shown(built(campaign, contents, full())) == ["a", "b"]  # the same version again
    before = (campaign.folder("release") / LEDGER).read_bytes()
    later = full().model_copy(update={"scores": full().scores[5:]})
    assert shown(built(campaign, contents, later, "0.2.0")) == []
    rescored = full().scores[3].model_copy(update={"ss": 55.0})
    again = full().model_copy(update={"scores": (*full().scores[:3], rescored, full().scores[4])})
    assert shown(built(campaign, contents, again, "0.3.0")) == ["b"]
    assert (campaign.folder("release") / LEDGER).read_bytes().startswith(before)
    (campaign.folder("release") / "0.1.0-revealed").mkdir()
    for version in ("0.2.0", "0.3.0"):
        (campaign.folder("release") / f"{version}-revealed").mkdir()
    assert shown(built(campaign, contents, later, "0.4.0")) == []  # all labels are known


@quiet
def test_cats_whose_labels_are_known_do_not_count(campaign: Campaign) -> None:
    built(campaign, made(800), full())
    (campaign.folder("release") / "0.1.0-revealed").mkdir()
    half = built(campaign, made(1600), full(), "0.2.0")
    assert (half.hidden and half.hidden.cats, shown(half)) == (800, ["a", "b"])  # 400 are known
    (campaign.folder("release") / "0.2.0-revealed").mkdir()
    more = built(campaign, made(3200), full(), "0.3.0")  # 800 of 1,600 are known
    assert (more.hidden and more.hidden.cats, shown(more)) == (1600, ["a", "b", "c"])
    (campaign.folder("release") / "0.3.0-revealed").mkdir()
    few = built(campaign, made(3300), full(), "0.4.0")  # the labels of 50 are not known
    assert [r.split for r in few.scores] == ["dev"] * 3


@quiet
def test_a_sealed_version_leaves_no_values_for_one_with_texts(campaign: Campaign) -> None:
    golds = golds_of(1200)
    sealed = [gold.model_copy(update={"sealed": True}) for gold in golds]
    assert values_left("2", {"1": sealed, "2": golds}, [], dev=400) == 0
    assert values_left("2", {"1": sealed[:20], "2": golds[20:]}, [], dev=400) == 3


def test_a_damaged_ledger_names_line_and_fix(campaign: Campaign) -> None:
    campaign.folder("release").mkdir()
    (campaign.folder("release") / LEDGER).write_text('{"version": "1", "cats": "zz"}\n', "utf-8")
    with fails("given-out.jsonl line 1", fix="How many values"):
        assert History(campaign).ledger


@quiet
def test_the_team_says_which_values_come_first(campaign: Campaign) -> None:
    release = campaign.settings.release.model_copy(update={"show": ("Words", "c")})
    settings = campaign.settings.model_copy(update={"release": release})
    public = built(replace(campaign, settings=settings), made(800), full())
    assert shown(public) == ["c"]
    names = [line.name for line in History(campaign).ledger]
    assert names == ["baseline Words", "model c (default)"]
    assert public.baselines[0].rows[0].ss == 61.0
    assert public.baselines[0].beyond == full().baselines[0].beyond


@quiet
@pytest.mark.parametrize("gold_is_lost", [False, True])
def test_a_lost_ledger_gives_nothing_back(campaign: Campaign, gold_is_lost: bool) -> None:
    contents = made(800)
    public = built(campaign, contents, full())
    folder = campaign.folder("release") / "0.1.0"
    folder.mkdir()
    (folder / "release.json").write_bytes(dump_json(public.model_dump(mode="json")))
    (folder / "test.json").write_text('{"data": {}}', "utf-8")
    (campaign.folder("release") / LEDGER).unlink()
    if gold_is_lost:
        gold_file(campaign, "0.1.0").unlink()
    later = full().model_copy(update={"scores": full().scores[5:]})
    assert shown(built(campaign, contents, later, "0.2.0")) == []


# --- what is said of it ---------------------------------------------------------------------------


@quiet
def test_more_than_is_allowed_is_named(campaign: Campaign) -> None:
    public = built(campaign, made(800), full())
    more = "scores: more than overall numbers, or more decimals"
    many = "3 values about gold labels, and 400 hidden CATs allow 2"
    changes: list[tuple[dict[str, Any], str]] = [
        ({"pitfalls": facts().pitfalls}, "pitfalls: more than overall numbers"),
        ({}, ""),
        ({"scores": (row("a", 61.23),)}, more),
        ({"scores": (row("a", 61.0), row("a", 6.0, kind="both"))}, more),
        ({"scores": full().scores}, many),
        ({"sentiment": facts().sentiment}, many),
    ]
    for change, says in changes:
        said = numbers.too_much(public.model_copy(update=change))
        assert says in "; ".join(said)
        assert bool(said) == bool(says), change


def test_a_check_finds_a_release_that_publishes_more(hidden: Desk, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(hidden.first, tmp_path / "r"))
    assert "hidden_values" not in {found.code for found in check(folder)[1]}
    about = read(folder / "release.json")
    about["scores"] = [row("a", 61.0).model_dump(mode="json")]
    (folder / "release.json").write_text(json.dumps(about), "utf-8")
    (found,) = (found for found in check(folder)[1] if found.code == "hidden_values")
    assert "1 value about gold labels, and 8 hidden CATs allow 0: model a (default)" in found.detail


def test_scoring_on_private_gold_says_what_remains(hidden: Desk, tmp_path: Path) -> None:
    done = hidden.forked("scores", "baselines", "--gold", hidden.gold)
    has(done.err, "0 of 0 values about them may still be given out")
    copy = Path(shutil.copy(hidden.gold, tmp_path))
    assert "given out" not in hidden.forked("scores", "baselines", "--gold", copy).err


@pytest.mark.parametrize(
    ("show", "names"),
    [
        ((), ["model a (default)", "model b (choice+t0)", "model x"]),
        (("b", "sentiment"), ["model b (choice+t0)", "sentiment"]),
        (("trust", "x", "x"), ["trust face, ss, scores a", "model x"]),
        (("Words (VADER)", "a (default)"), ["baseline Words (VADER)", "model a (default)"]),
    ],
)
def test_names_in_show_are_those_of_the_card(show: tuple[str, ...], names: list[str]) -> None:
    every = ("model a (default)", "model b (choice+t0)", "model x", "baseline Words (VADER)",
             "sentiment", "trust face, ss, scores a")  # fmt: skip
    values = [value("1", name, golds_of(4)) for name in every]
    assert [each.name for each in hidden._wanted(values, show, QUIET)] == names
    with pytest.warns(UserWarning, match="names what has no values on hidden CATs: nobody; name"):
        assert hidden._wanted(values, ("nobody",), QUIET) == []
