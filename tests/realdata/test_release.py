"""StereoSet's development set with labels, imported and released as if it were our own.

What the release says is counted again here, from the published file and the campaign's own files.
"""

import csv
import gzip
import json
import re
import shutil
from collections import Counter, defaultdict
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from curation.campaign.source import campaign_source
from curation.campaign.store import open_campaign
from curation.release.checking import check_release
from curation.release.texts.questions import QUESTIONS
from curation.released.facts import Facts
from support.commands import run, set_to, well
from support.realdata import LABELLED, labelled, needs
from support.scored import chance, put
from support.traced import untraced
from support.written import lines

KNOWN = {"blank_glued": 1, "blank_left": 2, "blank_twice": 2, "meta_text": 12}
"""The pitfalls of StereoSet that stop a release, and how many of its CATs have them."""
KINDS, SPLITS = ("intrasentence", "intersentence"), ("dev", "test")
GOLDS = ("stereotype", "anti-stereotype", "unrelated")
MODELS = {"guesser-1": 1, "guesser-2": 2}
pytestmark = [pytest.mark.outside, *needs(LABELLED)]  # it builds three releases of 4,212 CATs
Rows = list[dict[str, Any]]


def _text(release: Path, name: str) -> str:
    return (release / name).read_text("utf-8")


def _facts(release: Path) -> Facts:
    content = json.loads(_text(release, "release.json"))
    return Facts.model_validate({**content, "licence": {**content["licence"], "text": ""}})


def statement() -> str:
    """A ``statement.toml`` in which every question has an answer."""
    answers = (f'{q.key} = "On {q.key}, made up."\n' for q in QUESTIONS if not q.field)
    return (
        'description = "StereoSet\'s development set, built to test a program."\n'
        'contact = "team@example.org"\ntakedown = "remove@example.org"\n'
        'repository = "https://example.org/zebrafinch"\n'
        '[[authors]]\nname = "Zuzana Quixworthy"\naffiliation = "Zebrafinch Laboratory"\n'
        '[hub]\nid = "zebrafinch/stereo"\ngated = "manual"\nprompt = "Say what for."\n'
        f'[hub.fields]\n"Affiliation" = "text"\n[answers]\n{"".join(answers)}'
    )


@pytest.fixture(scope="module")
def published() -> Rows:
    """The items of the published file."""
    content = json.loads(gzip.decompress(LABELLED.read_bytes()))
    return [{**item, "kind": kind} for kind in KINDS for item in content["data"][kind]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign with a release."""
    folder = tmp_path_factory.mktemp("stereoset")
    root = folder / "campaign"
    well("init", root, "--yes")
    well("import", "stereoset", labelled(folder), "-c", root)
    set_to(root, "accept = []", f"accept = {sorted(KNOWN)}")
    (root / "7-release/statement.toml").write_text(statement(), "utf-8")
    well("decisions", "split", "-c", root)
    cats = campaign_source(open_campaign(root)).cats
    for model, seed in MODELS.items():
        put(root / "5-scores", model, "default", chance(seed), cats)
    assert "questions" not in well("release", "build", "-c", root).out  # none is open
    return root


@pytest.fixture(scope="module")
def release(root: Path) -> Path:
    return root / "7-release/0.1.0"


@pytest.fixture(scope="module")
def facts(release: Path) -> Facts:
    return _facts(release)


@pytest.fixture(scope="module")
def cats(root: Path) -> Rows:
    return lines(root / "3-decisions/cats.jsonl")


def test_a_check_finds_what_is_known_and_nothing_more(release: Path) -> None:
    found = check_release(release)
    assert not [f for f in found if f.severity == "block"]
    accepted = {f.where: f.detail.split(" of ")[0] for f in found if f.code == "pitfall_accepted"}
    assert accepted == {code: str(count) for code, count in KNOWN.items()}
    assert {f.code for f in found} - {"pitfall_accepted"} == {"pitfalls", "baseline"}


def test_every_number_of_the_texts_is_traced_to_the_facts(release: Path, facts: Facts) -> None:
    names = ("README.md", "STATEMENT.md")
    texts = {name: _text(release, name) for name in names}
    metadata = json.loads(_text(release, "croissant.json"))
    own = {key: value for key, value in metadata.items() if key.startswith("rai:")}
    own |= {key: metadata[key] for key in ("description", "version", "datePublished", "citeAs")}
    texts["croissant.json"] = json.dumps(own, ensure_ascii=False, indent=1)
    package = json.loads(_text(release, "datapackage.json"))
    package.pop("resources")
    assert package.pop("created") == f"{facts.date}T00:00:00Z"
    texts["datapackage.json"] = json.dumps(package, ensure_ascii=False, indent=1)
    texts["CITATION.cff"] = _text(release, "CITATION.cff").partition("\n")[2]
    for name, text in texts.items():
        assert untraced(text, facts) == [], name


def test_every_cat_and_label_is_counted_again(
    release: Path, facts: Facts, published: Rows, cats: Rows
) -> None:
    by_id = {item["id"]: item for item in published}
    votes = {cat["id"]: [s["labels"] for s in by_id[cat["id"]]["sentences"]] for cat in cats}
    golds = {cat["id"]: {s["gold_label"] for s in by_id[cat["id"]]["sentences"]} for cat in cats}
    assert all(gold == set(GOLDS) for gold in golds.values())
    sizes = Counter((by_id[c["id"]]["bias_type"], by_id[c["id"]]["kind"], c["split"]) for c in cats)
    assert {(s.domain, s.kind, s.split): s.cats for s in facts.sizes} == sizes
    targets = {(by_id[c["id"]]["bias_type"], by_id[c["id"]]["target"]) for c in cats}
    assert sum(count.terms for count in facts.terms) == len(targets) == 79
    people = [[v["human_id"] for v in part] for of in votes.values() for part in of]
    names = set().union(*people)
    assert facts.annotations == sum(map(len, people))
    assert facts.annotators == len(names) == facts.people["validation"]
    # A second vote by the same person on a sentence does not count.
    assert facts.counted == sum(len(set(each)) for each in people)
    with (release / "annotations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == facts.annotations
    assert {row["annotator"] for row in rows} == names  # the ids that were published before
    assert "the ids with which their labels were published before" in _text(release, "README.md")
    tiers = Counter(
        str(min(_agreeing(part) for part in of))
        if all(len({v["human_id"] for v in part}) == 5 for part in of)
        else "unknown"
        for of in votes.values()
    )
    assert {tier: count for tier, count in facts.tiers.items() if count} == tiers
    (total,) = [r for r in facts.retention if (r.domain, r.kind) == ("all", "all")]
    assert (total.kept, total.items, total.open) == (4212, 4212, 4229 - 4212)
    assert facts.not_kept == {"too_few_labels": 17}
    people = [[v["human_id"] for v in s["labels"]] for i in published for s in i["sentences"]]
    repeats = sum(len(each) - len(set(each)) for each in people)
    assert facts.not_counted == {"repeated_annotator": repeats} == {"repeated_annotator": 309}
    assert (facts.without_votes, facts.translated, facts.hidden) == (0, 0, None)
    assert (facts.open, facts.licence.spdx) == ((), "CC-BY-SA-4.0")


def _agreeing(part: Rows) -> int:
    return max(Counter(vote["label"] for vote in part).values())


def test_agreement_of_the_published_votes(facts: Facts, published: Rows, cats: Rows) -> None:
    """Krippendorff's alpha by its definition: coincidences of pairs of votes within a sentence."""
    kept = {cat["id"] for cat in cats}
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for item in published:
        for sentence in item["sentences"] if item["id"] in kept else ():
            own = {vote["human_id"]: vote["label"] for vote in reversed(sentence["labels"])}
            count = Counter(own.values())
            for a, b in product(count, repeat=2):
                weights[a, b] += count[a] * (count[b] - (a == b)) / (len(own) - 1)
    totals: dict[str, float] = defaultdict(float)
    for (a, _), weight in weights.items():
        totals[a] += weight
    n = sum(totals.values())
    observed = sum(weight for (a, b), weight in weights.items() if a != b) / n
    expected = sum(totals[a] * totals[b] for a, b in permutations(totals, 2)) / (n * (n - 1))
    (row,) = [
        r for r in facts.agreement if (r.scope, r.classes, r.measure) == ("kept", "all", "alpha")
    ]
    assert row.value == pytest.approx(1 - observed / expected, abs=1e-9)
    assert (row.cats, row.labels) == (4212, facts.counted)


def test_pitfalls_and_lengths_are_counted_again(root: Path, facts: Facts, cats: Rows) -> None:
    rows = {row.code: row for row in facts.pitfalls}
    assert {code: rows[code].count for code in KNOWN} == KNOWN
    assert {code for code, row in rows.items() if row.accepted} == set(KNOWN)
    hits = lines(root / "4-measures/pitfalls.jsonl")
    for code, row in rows.items():
        if row.unit == "cat":
            assert (row.count or 0) == len({h["item"] for h in hits if h["code"] == code}), code
    texts = [
        cat["context"] + " " + a["sentence"] if cat["kind"] == KINDS[1] else a["sentence"]
        for cat in cats
        for a in cat["associations"]
    ]
    both = next(row for row in facts.lengths if row.kind == "both")
    assert both.characters == pytest.approx(sum(map(len, texts)) / len(texts))


def test_scores_are_computed_again(root: Path, facts: Facts, cats: Rows) -> None:
    assert {row.model for row in facts.scores} == set(MODELS)
    for model in MODELS:
        path = root / f"5-scores/{model}/default/scores.jsonl"
        values = {row["association"]: row["value"] for row in lines(path)}
        for row in (row for row in facts.scores if row.model == model):
            own = [c for c in cats if c["split"] == row.split and row.kind in ("both", c["kind"])]
            prefers, meaningful = defaultdict(list), defaultdict(list)
            for cat in own:
                by_gold = {x["gold"]: values[x["id"]] for x in cat["associations"]}
                s, a, u = (by_gold[gold] for gold in GOLDS)
                prefers[cat["term"]].append(s > a)
                meaningful[cat["term"]] += [s > u, a > u]
            ss, lms = _mean(prefers), _mean(meaningful)
            assert (row.cats, row.terms) == (len(own), len(prefers))
            expected = (ss, lms, lms * min(ss, 100 - ss) / 50)
            assert (row.ss, row.lms, row.icat) == pytest.approx(expected)
            for value, (low, high) in ((row.ss, row.ss_ci), (row.lms, row.lms_ci)):
                assert low < value < high


def _mean(of: dict[str, list[bool]]) -> float:
    return 100 * sum(sum(values) / len(values) for values in of.values()) / len(of)


def test_texts_have_no_empty_section_and_no_mark_that_no_reader_should_see(release: Path) -> None:
    for name in ("README.md", "STATEMENT.md"):
        text = _text(release, name).rpartition("---\n")[2]
        shown = MarkdownIt("commonmark").enable("table").render(text)
        assert not re.search(r"</h2>\s*(<h2>|\Z)", shown), name
        shown = re.sub(r"(?s)<pre>.*?</pre>|<code>.*?</code>", "", shown)
        assert not re.findall(r"\b(?:None|null|nan|Open question)\b|[{}]|\(\)", shown), name


def test_what_is_not_known_of_imported_data_is_not_claimed(release: Path) -> None:
    statement = _text(release, "STATEMENT.md")
    assert "it is not recorded who wrote them" in statement
    assert "People wrote and labelled between" not in statement
    assert "17 items have too few labels and were left out." in statement
    assert "309 labels were not counted: the same annotator had already" in statement
    assert "No answer was refused" not in statement
    croissant = json.loads(_text(release, "croissant.json"))
    assert croissant["rai:dataCollectionType"] == ["Secondary Data Analysis"]
    assert "If imported items had been chosen by agreement before" in statement


@pytest.fixture(scope="module")
def hidden(root: Path, release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the campaign whose version 0.2.0 has a hidden test set, which is revealed."""
    root = Path(shutil.copytree(root, tmp_path_factory.mktemp("hidden") / "campaign"))
    set_to(root, '"0.1.0"', '"0.2.0"')
    build = ("release", "build", "--hide", "labels", "-c", root)
    ran = run(*build)
    assert (ran.code, "hidden_in_vain" in ran.err) == (1, True)  # version 0.1.0 has the labels
    accept = f"accept = {sorted(KNOWN)}"
    set_to(root, accept, f"{accept[:-1]}, 'hidden_in_vain']")
    well(*build)
    well("release", "reveal", "0.2.0", "-c", root)
    return root


def test_a_hidden_test_set_is_revealed_as_it_was(hidden: Path, release: Path, cats: Rows) -> None:
    root, hidden = hidden, hidden / "7-release/0.2.0"
    assert not [f for f in check_release(hidden) if f.severity == "block"]
    facts = _facts(hidden)
    for name in ("README.md", "STATEMENT.md"):
        assert untraced(_text(hidden, name), facts) == [], name
    tiers = Counter(str(c["tier"] or "unknown") for c in cats if c["split"] == "dev")
    assert {tier: count for tier, count in facts.tiers.items() if count} == tiers
    test = [cat for cat in cats if cat["split"] == "test"]
    assert facts.hidden is not None
    assert (facts.hidden.cats, facts.hidden.terms) == (len(test), len({c["term"] for c in test}))
    published = json.loads(_text(hidden, "test.json"))["data"]
    golds = {s["gold_label"] for kind in KINDS for i in published[kind] for s in i["sentences"]}
    assert golds == {"hidden"}
    shown = json.loads(_text(root / "7-release/0.2.0-revealed", "test.json"))["data"]
    assert _labels(shown) == _labels(json.loads(_text(release, "test.json"))["data"])


def _labels(data: dict[str, Rows]) -> Counter[tuple[str, ...]]:
    """The texts of each item with their gold labels, without ids."""
    return Counter(
        (item["context"], *sorted(f"{s['gold_label']} {s['sentence']}" for s in item["sentences"]))
        for kind in KINDS
        for item in data[kind]
    )


def test_versions_near_duplicates_and_exports(hidden: Path, release: Path, tmp_path: Path) -> None:
    versions = ("0.1.0", "0.2.0-revealed")
    assert "renumbered" in well("release", "diff", *versions, "-c", hidden, "--json").out
    well("release", "near", "-c", hidden, "--json")
    gold = ("--gold", release / "test.json", "--gold", release / "dev.json")
    well("release", "export", "bias-bench", *gold, "--to", tmp_path / "bb")
    mangled = lines(tmp_path / "bb/mangled.jsonl")
    # bias-bench reads 12 fillers of four CATs wrongly; two CATs have BLANK twice.
    counts = Counter(row["code"] for row in mangled)
    assert counts == {"blank_glued": 3, "filler_misread": 9, "blank_twice": 2}
    assert len({row["where"].partition(",")[0] for row in mangled}) == 6
