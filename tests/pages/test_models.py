"""What the report says of models and of trust, counted again without the code that computes it."""

import json
import re
from html import unescape
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.settings import CampaignSettings, Settings, new_id
from curation.campaign.source import campaign_source, gold_source
from curation.campaign.store import Campaign, create_campaign
from curation.pages import dots
from curation.pages.report import Report, environment, given_to
from curation.pages.scores import _pairs, numbers
from curation.pages.sourced import raw, wrap
from curation.pages.steps import texts
from curation.scores.groups import Difference
from curation.scores.published import targets
from support.cats import cat
from support.scored import CATS, chance, likes, put, scored_campaign, write_cats, write_gold
from support.written import lines

MEASURES = ("lms", "ss", "icat")
Json = dict[str, Any]


def page(**sources: Any) -> str:
    """Both sections from these sources, each of a file of its name."""
    there = {name: (f"{name}.json", content) for name, content in sources.items()}
    given = given_to(Report("Example", texts("en"), "en", there))
    sections = (f"section_{name}.html" for name in ("scores", "trust"))
    return "".join(environment().get_template(name).render(given) for name in sections)


def shown(html: str) -> dict[str, set[str]]:
    """Every printed number of scores.json by its place there."""
    found: dict[str, set[str]] = {}
    pattern = r'<data value="[^"]*" data-file="scores.json" data-key="([^"]*)"[^>]*>([^<]*)</data>'
    for key, text in re.findall(pattern, html):
        found.setdefault(unescape(key), set()).add(text)
    return found


def by_hand(cats: list[Json], scores: dict[str, float]) -> dict[str, float]:
    """lms, ss and icat as ACL §5.2 defines them: per cent of a term, then means over terms."""

    def of(one: Json) -> list[float]:
        by_gold = {a["gold"]: scores[a["id"]] for a in one["associations"]}
        return [by_gold[gold] for gold in ("stereotype", "anti-stereotype", "unrelated")]

    def term(one: Json) -> str:
        return f"{one['domain']}/{one['target']}"

    lms, ss = [], []
    for _, own in groupby(sorted(cats, key=term), key=term):
        three = [of(one) for one in own]
        beats = [a > b for s, t, u in three for a, b in ((s, u), (t, u))]
        lms.append(100 * sum(beats) / len(beats))
        ss.append(100 * sum(s > t for s, t, _ in three) / len(three))
    mean_lms, mean_ss = sum(lms) / len(lms), sum(ss) / len(ss)
    icat = mean_lms * min(mean_ss, 100 - mean_ss) / 50
    return {"lms": mean_lms, "ss": mean_ss, "icat": icat}


HOSTILE = "<script>alert(1)<!--=cmd"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign with seven runs: two at random, one with a bad name, one of another rule."""
    folder = tmp_path_factory.mktemp("scored") / "campaign"
    campaign = create_campaign(folder, Settings(campaign=CampaignSettings(id=new_id())))
    scored_campaign(campaign)
    for seed in (1, 2):
        put(campaign.folder("scores"), f"lab/random-{seed}", "default", chance(seed))
    put(campaign.folder("scores"), HOSTILE, "default", likes)
    inter = [one for one in CATS if one.kind == "intersentence"]
    rules = {"rules": {"intersentence": "conditional-chars"}}
    put(campaign.folder("scores"), "likes", "conditional-chars", likes, inter, **rules)
    return campaign


@pytest.fixture(scope="module")
def made(scored: Campaign) -> Json:
    """Its numbers."""
    return numbers(campaign_source(scored))


def test_page_shows_what_counting_by_hand_gives(scored: Campaign, made: Json) -> None:
    printed = shown(page(**made))
    cats = lines(scored.folder("decisions") / "cats.jsonl")
    cats = [one for one in cats if one["split"] == "test"]
    runs = {
        f"{json.loads((path.parent / 'run.json').read_text())['model']}/default": {
            line["association"]: line["value"] for line in lines(path)
        }
        for path in scored.folder("scores").glob("*/default/scores.jsonl")
    }
    assert made["scores"]["runs"].keys() == {*runs, "likes/conditional-chars"}
    for name, values in runs.items():
        run, step = made["scores"]["runs"][name], name.replace("/", "~1")
        parts = {"": (run["overall"], cats)}
        for domain in ("craft", "sport"):
            own = [one for one in cats if one["domain"] == domain]
            parts[f"domains/{domain}"] = (run["domains"][domain], own)
        for kind in ("intrasentence", "intersentence"):
            own = [one for one in cats if one["kind"] == kind]
            parts[f"kinds/{kind}/overall"] = (run["kinds"][kind]["overall"], own)
        for term in {f"{one['domain']}/{one['target']}" for one in cats}:
            own = [one for one in cats if f"{one['domain']}/{one['target']}" == term]
            parts[f"term {term}"] = (run["terms"][term], own)
        for place, (cell, own) in parts.items():
            expected = by_hand(own, values)
            assert {m: cell[m] for m in MEASURES} == pytest.approx(expected, rel=1e-5), place
            for measure in MEASURES if not place.startswith("term") else ():
                key = f"/runs/{step}/{place or 'overall'}/{measure}"
                assert printed[key] == {f"{cell[measure]:,.1f}"}, key


def test_lists_have_the_highest_value_on_top(made: Json) -> None:
    runs = wrap(made["scores"]["runs"], "scores.json")
    found = dots.dots([runs[name] for name in sorted(runs)], ["overall", "ss"])
    values = [raw(row.value) for row in found.rows]
    assert len(values) == 6
    assert values == sorted(values, reverse=True)
    places = [row.dots[0].x for row in found.rows]
    assert places == sorted(places, reverse=True)


def test_dots_say_on_which_side_of_even_an_ss_is_and_what_is_small() -> None:
    cells = {
        "high": {"ss": 60.0, "ss_ci": [52.0, 68.0], "few_terms": False},
        "even": {"ss": 51.0, "ss_ci": [44.0, 58.0], "few_terms": True},
        "low": {"ss": 41.0, "ss_ci": [33.0, 49.0], "few_terms": False},
        "alone": {"ss": 70.0, "ss_ci": None, "few_terms": True},
    }
    entries = [{"label": name, "c": cell} for name, cell in cells.items()]
    found = dots.dots(entries, ["c", "ss"])
    assert [(row.name, row.dots[0].side, row.dots[0].hollow) for row in found.rows] == [
        ("alone", "unrelated", True),
        ("high", "stereotype", False),
        ("even", "unrelated", True),
        ("low", "anti", False),
    ]
    assert found.rows[0].dots[0].low is None
    high, low = found.rows[1].dots[0], found.rows[3].dots[0]
    assert found.even is not None
    assert low.high is not None and high.low is not None  # noqa: PT018 - for the type checker
    assert low.high < found.even < high.low


def test_points_lie_on_the_contour_of_their_icat() -> None:
    cells = [{"label": "a", "lms": 80.0, "ss": 60.0, "lms_ci": None, "ss_ci": None}]  # icat 64
    found = dots.surface(cells, [])
    ((x, y),) = [(point.dot.x, point.dot.y) for point in found.points]
    heights = {}
    for path, _, _, value in found.lines:
        places = [tuple(map(float, at.split())) for at in path.lstrip("M").split("L")]
        near = min(places, key=lambda place: abs(place[0] - x))
        if value:
            heights[int(value)] = near[1]
    assert heights[60] > y > heights[70]  # downwards in the picture


def test_differences_hold_or_cannot_be_told_apart() -> None:
    def row(figure: str, p: float | None, unsure: bool) -> Difference:
        return Difference("a", "b", "both", figure, 1, 2, 1, None, p, unsure, 9, 3, True, p)

    (pair,) = _pairs([row("lms", 0.05, False), row("ss", 0.051, False)], ["a", "b"])
    assert (pair["lms"]["verdict"], pair["ss"]["verdict"], pair["near"]) == ("holds", "open", True)
    (pair,) = _pairs([row("icat", 0.01, True), row("ss", None, False)], ["a", "c", "b"])
    assert (pair["icat"]["verdict"], pair["ss"]["verdict"]) == ("unsure", "open")
    assert not pair["near"]
    entries = [{"label": n, "run": n, "ss": v} for n, v in (("a", 60.0), ("b", 70.0), ("c", 50.0))]
    pairs = [{"a": "a", "b": "b", "ss": {"verdict": "holds"}}]
    found = dots.triangle(entries, pairs, ["ss"])
    assert [name for name, *_ in found.names] == ["b", "a", "c"]
    ((x, y, side, verdict),) = found.cells
    assert verdict == "holds"
    assert x < found.names[1][1] and y + side > found.names[0][2]  # noqa: PT018


def test_sizes_are_joined_within_an_architecture_and_names_do_not_cover_each_other() -> None:
    rows = [
        {"architecture": name, "parameters": size, "ss": 50 + size / 1e8}
        for name, sizes in (("Oak", (1e8, 4e8)), ("Elm", (2e8, 4e8)))
        for size in sizes
    ]
    found = dots.by_size(rows, "ss")
    (_, first, x, above, oak), (_, last, other, below, elm) = found.lines
    assert oak[1] == elm[1]  # the same size and value: the same place
    assert (x, below - above) == (other, 13)
    assert [path.count("L") for path in (first, last)] == [1, 1]
    assert oak[0].x < elm[0].x < oak[1].x  # the logarithm: 1e8, 2e8, 4e8
    assert elm[0].x - oak[0].x == pytest.approx(oak[1].x - elm[0].x, abs=0.02)
    assert [text for _, text in found.across] == ["100M", "200M", "500M"]


def test_other_rules_are_ranked_apart(made: Json) -> None:
    default, apart = made["scores"]["groups"]
    assert (default["kind"], apart["kind"]) == ("both", "intersentence")
    assert apart["ranked"] == ["likes/conditional-chars"]
    assert apart["ranked"][0] not in default["ranked"]
    assert len(default["ranked"]) == 6
    html = page(**made)
    assert html.index(default["title"]) < html.index(apart["title"])
    assert html.count("Models that are scored by other rules are ranked apart") == 2


def test_models_that_have_one_kind_each_are_ranked_by_kind(campaign: Campaign) -> None:
    campaign.folder("decisions").mkdir()
    write_cats(campaign.root, CATS)
    for model, kind in (("a", "intersentence"), ("b", "intrasentence")):
        own = [one for one in CATS if one.kind == kind]
        put(campaign.folder("scores"), model, "default", likes, own)
    with pytest.warns(UserWarning, match="CATs of one kind only"):
        made = numbers(campaign_source(campaign))
    groups = [(group["kind"], group["ranked"]) for group in made["scores"]["groups"]]
    assert groups == [("intrasentence", ["b/default"]), ("intersentence", ["a/default"])]
    printed = shown(page(**made))
    for name, kind in (("a", "intersentence"), ("b", "intrasentence")):
        assert printed[f"/runs/{name}~1default/kinds/{kind}/overall/ss"] == {"100.0"}


def test_names_of_models_are_texts(made: Json) -> None:
    html = page(**made)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("scores", "figures of the built release"),
        ("baselines", "not known what rules that understand nothing"),
        ("trust", "<code>curation trust report</code>"),
        ("release", "Which differences hold"),
    ],
)
def test_each_file_may_be_missing(made: Json, lacking: str, says: str) -> None:
    every = made | {"trust": TRUST, "release": RELEASE}
    html = page(**{name: content for name, content in every.items() if name != lacking})
    assert says in html
    assert says not in page(**every) or lacking == "release"


def test_without_scores_the_page_names_the_command(made: Json) -> None:
    assert "<code>curation scores models MODEL</code>" in page(baselines=made["baselines"])


def test_a_campaign_without_models_has_baselines_alone(campaign: Campaign) -> None:
    assert numbers(campaign_source(campaign)) == {}
    scored_campaign(campaign)
    for path in sorted(campaign.folder("scores").glob("*/*/*.jsonl")):
        path.unlink()
    assert list(numbers(campaign_source(campaign))) == ["baselines"]


def test_printed_rows_stand_beside_a_run_on_stereoset(tmp_path: Path) -> None:
    cats = [
        cat("-", "a", "b", "c", name=f"{kind}-{n}-", kind=kind, domain=one.domain, target=one.term)
        for n, one in enumerate(one for one in targets() if one.split == "dev")
        for kind in ("intrasentence", "intersentence")
    ]
    gold = write_gold(tmp_path / "dev.json", cats)
    scores = tmp_path / "scores"
    put(scores, "gpt2", "default", likes, cats)
    made = numbers(gold_source([gold], scores=scores))
    rows = [row for row in made["published"]["rows"] if row["domain"] == "all"]
    assert {row["table"] for row in rows} >= {"arXiv 2020, Table 4, dev, both kinds"}
    assert all(row["figures"]["ss"]["value"] == 100 for row in rows)
    html = page(**made)
    both = next(row for row in rows if row["kind"] == "both")
    assert f">{both['figures']['ss']['printed']:.1f}</data>" in html
    own = write_gold(tmp_path / "own.json", CATS)
    put(tmp_path / "other", "gpt2", "default", likes, CATS)
    assert "published" not in numbers(gold_source([own], scores=tmp_path / "other"))


def row(criterion: str, status: str, value: float | None, **more: Any) -> Json:
    ends = None if value is None else [value - 0.1, value + 0.1]
    known = {"subject": "dataset", "name": "Example", "check": "made", "kind": "test"}
    known |= {"statistic": "alpha", "n": 12, "unit": "CATs", "threshold": 0.667, "verdict": ""}
    known |= {"limit": "at_least"}
    says = {"computed": "counted", "change": f"more of {criterion}", "p": None}
    return (
        known | says | {"criterion": criterion, "status": status, "value": value, "ci": ends} | more
    )


TRUST = {
    "counts": {
        **{"pass": 1, "fail": 1, "inconclusive": 1, "not_run": 1},
        **{"grew": 2, "fell": 1, "moved": 1, "not_shown": 1},
    },
    "open": ["power"],
    "rows": [
        row("content", "not_run", None),
        row("content", "fail", 24.5137),
        row("agreement", "pass", 0.7342),
        row("agreement", "pass", 0.1, kind="control", change="the control"),
        row("sensitivity", "inconclusive", -7.0317, subject="scores", name="default"),
        row("content", "fail", 90.5, limit="at_most", threshold=60.0),
        *(
            row(
                criterion,
                status,
                value,
                subject="measure",
                limit="no_change",
                threshold=0.0,
                **words,
            )
            for criterion, status, value, words in (
                ("mitigation", "grew", 0.121, {}),
                ("mitigation", "grew", -0.3, {"verdict": "bias grew, by a measure of ours"}),
                ("amplification", "fell", -0.2, {}),
                ("amplification", "moved", 0.4, {"verdict": "moved towards female"}),
                ("amplification", "not_shown", 0.05, {}),
            )
        ),
    ],
}
RELEASE = {
    "scores": [
        {
            **{"model": "m", "rules": "r", "split": "test", "kind": "both", "cats": 9, "terms": 3},
            **{"lms": 70.0, "ss": 55.0, "icat": 63.0, "lms_ci": None, "ss_ci": None},
            **{"icat_ci": None, "few": True, "flags": []},
        }
    ]
}


def test_five_sentences_and_each_criterion_with_its_verdict() -> None:
    html = page(trust=TRUST)
    section = html[html.index('<section id="trust">') :]
    plain = " ".join(unescape(re.sub(r"<[^>]*>", "", section)).split())
    for text in (
        "1 checks hold, 1 do not, and 1 are open",
        "People agree enough on labels: alpha is 0.73 (0.63 to 0.83), and at least 0.67",
        "No two models were compared",
        "It is not known what rules that understand nothing can do",
        "Questions to the team that have no answer: 1. Checks that lack data or runs: 1.",
        "does not hold: the dataset",
        "24.5 (24.4 to 24.6); must be at least 0.7",
        "90.5 (90.4 to 90.6); must be at most 60",
        "bias grew in 2 and fell in 1; in 1 neither is shown. 1 show only that associations",
        "For scores: without a loss of meaning? bias grew: the measure",
        "0.12 (0.02 to 0.22); 0 is no change",
        "bias grew, by a measure of ours: the measure",
        "bias fell: the measure",
        "moved towards female: the measure",
        "not shown: the measure",
        "What would change it: more of content",
        "open: the scores",
        "-7.03 (-7.13 to -6.93)",
    ):
        assert text in plain, text
    assert "the control" not in plain
    assert section.count("<ol>") == 1
    assert plain.index("does not hold: the dataset") < plain.index("not run: the dataset")
    changes = plain[plain.index("Does a method reduce bias?") :]
    assert "holds" not in changes


def test_while_gold_is_hidden_the_figures_of_the_release_stand_in_their_order() -> None:
    first = RELEASE["scores"][0]
    rows = [first | {"model": "low"}, first | {"model": "high", "icat": 90.0}]
    html = page(release={"scores": rows})
    assert html.index(">low<") < html.index(">high<")
    assert 'data-key="/scores/1/icat"' in html
