"""Published data in a campaign of its own: imported in any language, trusted if a team says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.settings import (
    CampaignSettings,
    DecisionSettings,
    ReleaseSettings,
    Settings,
    new_id,
)
from curation.campaign.source import gold_source
from curation.campaign.store import Campaign, create_campaign, open_campaign
from curation.catsets.stereoset import read_cats, read_gold_file
from curation.decisions.steps import agreement_report, kept_without_votes
from curation.files import read_json, read_records
from curation.kinds import GOLDS
from curation.pipeline import bring_up_to_date, read_status
from curation.records import Cat, Decision, Item, Rejection
from curation.rounds.importing import Import, import_stereoset
from support.commands import set_to
from support.expected import fails
from support.heard import Heard

PEOPLE = "abcde"


def item(name: str, *, domain: str = "gender", target: str = "padeira", **more: Any) -> Any:
    """A published item; ``golds`` are its gold labels, ``votes`` how many people gave each."""
    votes, golds = more.pop("votes", 0), more.pop("golds", GOLDS)
    words = ("cedo", "tarde", "azul")
    context = f"A {target} chega BLANK ao número {name}."
    sentences = [
        {
            "id": f"{name}-{n}",
            "sentence": context.replace("BLANK", word),
            "gold_label": gold,
            "labels": [{"label": label, "human_id": who} for who in PEOPLE[:votes]],
        }
        for n, (word, gold, label) in enumerate(zip(words, golds, GOLDS, strict=True))
    ]
    about = {"id": name, "target": target, "bias_type": domain, "context": context}
    return {**about, "sentences": sentences, **more}


def write(path: Path, *items: Any) -> Path:
    content = {"version": "1", "data": {"intrasentence": list(items)}}
    path.write_text(json.dumps(content), "utf-8")
    return path


def make(folder: Path, *, language: str = "pt", **decisions: Any) -> Campaign:
    settings = Settings(
        campaign=CampaignSettings(id=new_id(), language=language),
        decisions=DecisionSettings(**decisions),
        release=ReleaseSettings(accept=("domain_in_one_split",)),
    )
    return create_campaign(folder, settings)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return make(tmp_path / "c")


@pytest.fixture
def trusting(tmp_path: Path) -> Campaign:
    """A fresh campaign that trusts published gold labels."""
    return make(tmp_path / "c", trust_gold=True)


def run(campaign: Campaign, *steps: str) -> Any:
    with campaign.lock():
        return bring_up_to_date(campaign, *steps, reporter=Heard()).counts


def bring(campaign: Campaign, file: Path, **how: Any) -> tuple[Import, Heard]:
    """Import a file; also what is said about it."""
    heard = Heard()
    return import_stereoset(campaign, file, reporter=heard, **how), heard


def take(campaign: Campaign, *items: Any, **how: Any) -> tuple[Import, Heard]:
    return bring(campaign, write(campaign.root.parent / "f.json", *items), **how)


def said(texts: list[str], part: str) -> str:
    """The only one of these texts that has this part."""
    (text,) = (text for text in texts if part in text)
    return text


def decided(campaign: Campaign) -> dict[str, tuple[bool, str | None]]:
    decisions = read_records(campaign.folder("decisions") / "decisions.jsonl", Decision)
    return {decision.item: (decision.kept, decision.reason) for decision in decisions}


def refusals(campaign: Campaign) -> list[tuple[str, str]]:
    path = campaign.folder("rounds") / "published" / "rejected.jsonl"
    return [(r.code, r.detail) for r in read_records(path, Rejection)]


# --- the import -----------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["gender", "religion"])
def test_published_data_needs_no_word_list(campaign: Campaign, domain: str) -> None:
    with fails("no words for the domain 'gender' in 'pt'"):
        run(campaign, "select")
    done, heard = take(campaign, item("i1", domain=domain))
    assert done.items == 1
    text = said(heard.warnings, "gender.csv")
    assert text.startswith("gender.csv: no words for the domain 'gender' in 'pt'; it has en. The ")
    assert "«# language: pt»" in text
    assert read_status(campaign).steps[0].state == "up to date"
    assert run(campaign, "filter")["items_in"] == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gendr.csv", "", "no such word list, but"),
        ("own.txt", "# language: es\nabuela\n", "no words for the domain 'gender' in 'pt'; it has"),
    ],
)
def test_a_list_with_a_wrong_name_or_of_ones_own_is_never_passed_over(
    campaign: Campaign, name: str, content: str, message: str
) -> None:
    set_to(campaign.root, "gender.csv", name)
    if content:
        campaign.folder("terms").mkdir()
        (campaign.folder("terms") / name).write_text(content, "utf-8")
    with fails(message):
        take(open_campaign(campaign.root), item("i1"))
    assert not list(campaign.folder("rounds").glob("*/raw/*"))


def test_domains_that_the_campaign_lacks_are_refused_with_the_lines_to_add(tmp_path: Path) -> None:
    campaign = make(tmp_path / "c", language="lt")
    domains = ("lytis", "lytis", "rasė", "x/y")
    done, heard = take(campaign, *(item(f"a{n}", domain=d) for n, d in enumerate(domains)))
    assert (done.items, done.rejected) == (0, {"unknown_domain": 4})
    text = said(heard.warnings, "does not have")
    assert "lytis (2 rows), rasė (1 row), x/y (1 row); their items are refused" in text
    assert text.endswith('«curation run»: [domains.lytis] [domains."rasė"]')
    with (campaign.root / "campaign.toml").open("a", encoding="utf-8") as file:
        file.write('[domains.lytis]\n[domains."rasė"]\n')
    assert run(open_campaign(campaign.root), "filter")["items_in"] == 3


# --- what is left out of an item ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "7 (a number)"),
        ("stereotipas", "'stereotipas'"),
        ("", "''"),
        (True, "True"),
        (["stereotype"], "['stereotype']"),
        (10**15, "1000000000000000 (a number)"),
    ],
)
def test_an_odd_gold_label_is_told(trusting: Campaign, value: Any, shown: str) -> None:
    take(trusting, item("i1", golds=(value, *GOLDS[1:])))
    ((code, detail),) = refusals(trusting)
    assert code == "unknown_label"
    assert shown in detail
    assert detail.endswith("of i1-0 is not a label; it is left out")
    assert len(detail) < 200
    (one,) = trusting.items
    assert [a.published_gold for a in one.associations] == [None, *GOLDS[1:]]
    run(trusting, "filter")
    assert decided(trusting) == {"i1": (False, "too_few_labels")}


def test_labels_sentences_and_blanks_that_are_wrong_are_booked(campaign: Campaign) -> None:
    odd = item("odd")
    odd["sentences"][0]["labels"] = [{"label": v, "human_id": "a"} for v in (1, "ja", None, 1.5)]
    odd["sentences"][1]["labels"] = {"label": [1], "human_id": ["a"]}
    short, empty, no_blank = item("short"), item("empty"), item("no_blank")
    short["sentences"].pop()
    empty["sentences"][2]["sentence"] = None
    no_blank["context"] = "A padeira chega."
    done, _ = take(campaign, odd, short, empty, no_blank)
    assert sorted(detail for _, detail in refusals(campaign)) == [
        "'ja' is not a label",
        "1.5 (a number) is not a label",
        "item short has 2, not 3",
        "labels of odd-1 are not a list",
        "no 'label'",
        "no 'sentence'",
    ]
    assert done.items == 2
    assert {p.code for p in done.pitfalls if p.item == "no_blank"} >= {"blank_missing"}


def test_the_original_target_goes_through_to_the_release(trusting: Campaign) -> None:
    names = {"i1": " baker\n woman ", "i2": 7, "i3": None}
    take(trusting, *(item(id, target_original=name) for id, name in names.items()))
    ((code, detail),) = refusals(trusting)
    assert (code, detail[:34]) == ("bad_value", "'target_original' of item i2 is no")
    items = read_records(trusting.folder("rounds") / "published" / "items.jsonl", Item)
    assert [one.target_original for one in items] == ["baker woman", None, None]
    run(trusting)
    cats = read_records(trusting.folder("decisions") / "cats.jsonl", Cat)
    assert [cat.target_original for cat in cats] == ["baker woman", None, None]
    folder = trusting.folder("release") / "0.1.0"
    data = read_json(folder / "test.json")["data"]["intrasentence"]
    assert [one.get("target_original", "-") for one in data] == ["baker woman", "-", "-"]
    readme = (folder / "README.md").read_text("utf-8")
    assert "before translation" not in readme
    assert "1 CAT was translated from another dataset; `target_original` is the target" in readme
    assert "`annotations.csv` has a header only, because there are no labels." in readme
    assert "3 CATs of unknown tier" in (folder / "STATEMENT.md").read_text("utf-8")


def test_votes_of_translated_texts_and_a_wrong_language_are_named(tmp_path: Path) -> None:
    context = "A padeira da esquina abre muito cedo e trabalha de noite em BLANK."
    about = {"votes": 5, "target_original": "baker", "context": context}
    _, heard = take(
        make(tmp_path / "c", language="en"), *(item(f"i{n}", **about) for n in range(10))
    )
    assert said(heard.warnings, "f.json is not in English, but the campaign is in «en»")
    note = said(heard.notes, "original targets")
    assert note.endswith("agreement and tiers are those of the original texts")


def test_a_language_that_a_file_names_is_compared_with_the_campaigns(tmp_path: Path) -> None:
    write(tmp_path / "f.json", item("i1"))
    file = tmp_path / "m.toml"
    file.write_text('files = ["f.json"]\nlanguage = "pt-BR"\n', "utf-8")
    for own, warned in (("es", True), ("pt", False)):
        _, heard = bring(make(tmp_path / own, language=own), file)
        text = f"m.toml is in «pt-BR», but the campaign is in «{own}»; correct language"
        assert any(warning.startswith(text) for warning in heard.warnings) == warned


# --- trusted gold labels ------------------------------------------------------------------------

ITEMS = (
    item("gold1"),
    item("gold2", target="mineira", domain="profession"),
    item("left"),
    item("few", votes=2),
    item("voted", votes=5, golds=("unrelated", "anti-stereotype", "stereotype")),
    item("two", golds=("stereotype", "stereotype", "unrelated")),
    item("none", golds=(None, None, None)),
)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign that trusts gold labels, whole; one item in it has votes."""
    folder = tmp_path_factory.mktemp("trusted")
    campaign = make(folder / "c", trust_gold=True, leave_out=("left",))
    take(campaign, *ITEMS)
    run(campaign)
    return campaign


def test_only_items_without_any_label_keep_their_gold_labels(trusted: Campaign) -> None:
    assert decided(trusted) == {
        "gold1": (True, None),
        "gold2": (True, None),
        "left": (False, "left_out"),
        "few": (False, "too_few_labels"),
        "voted": (True, None),
        "two": (False, "too_few_labels"),
        "none": (False, "too_few_labels"),
    }
    decisions = {
        d.item: d for d in read_records(trusted.folder("decisions") / "decisions.jsonl", Decision)
    }
    assert {v.votes for v in decisions["gold1"].verdicts} == {(0, 0, 0, 0)}
    assert [v.gold for v in decisions["gold1"].verdicts] == list(GOLDS)
    assert [v.gold for v in decisions["voted"].verdicts] == list(GOLDS)  # not the published ones
    assert kept_without_votes(trusted) == {"gold1", "gold2"}
    counts = run(trusted, "filter")
    assert (counts["gold_without_votes"], counts["kept_without_votes"]) == (0, 2)
    cats = {
        cat.id: cat.tier for cat in read_records(trusted.folder("decisions") / "cats.jsonl", Cat)
    }
    assert cats == {"gold1": None, "gold2": None, "voted": 5}


def test_labels_of_rounds_that_do_not_count_are_labels(tmp_path: Path) -> None:
    campaign = make(tmp_path / "c", trust_gold=True, rounds=("other",))
    take(campaign, item("voted", votes=5))
    take(campaign, item("gold"), round="other")
    run(campaign, "filter")
    assert decided(campaign) == {"voted": (False, "too_few_labels"), "gold": (True, None)}


def test_agreement_is_about_items_with_votes(trusted: Campaign) -> None:
    report = agreement_report(trusted, measures=["alpha"])
    assert report["items"] == {
        "in": 7, "stopped_early": 0, "kept_without_votes": 2, "labels": 21,
    }  # fmt: skip
    whole = report["retention"][-1]
    # Seven items without two: one is kept, one left out, three are open.
    assert (whole["items"], whole["open"], whole["kept"]) == (5, 3, 1)
    # Only «voted» has gold labels by votes; two of the three were published the other way round.
    assert report["gold"]["published"]["associations"] == 3
    assert report["gold"]["published"]["differ"] == 2


def test_pitfalls_and_status_name_the_cats_without_votes(trusted: Campaign) -> None:
    rows = {
        row["code"]: row for row in read_json(trusted.folder("measures") / "pitfalls.json")["table"]
    }
    assert (rows["no_votes"]["count"], rows["no_votes"]["of"]) == (2, 3)
    text = said([*read_status(trusted).warnings], "no votes")
    assert text.startswith("2 CATs have no votes: their gold labels are those that were published")


def test_the_release_says_that_nobody_voted(trusted: Campaign) -> None:
    folder = trusted.folder("release") / "0.1.0"
    readme = (folder / "README.md").read_text("utf-8")
    assert "**2 of 3 CATs have no votes.**\nNobody labelled them for this release" in readme
    assert "agreement between annotators is about the other CATs only" in readme
    files = [folder / "dev.json", folder / "test.json"]
    assert sum(read_gold_file(path).settings.without_votes for path in files) == 2
    assert {cat.id for cat in read_cats(files[1])} == {"gold1", "gold2", "voted"}
    assert read_cats(files[0]) == []  # too few terms for a dev split
    assert len(gold_source(files).cats) == 3
    with fails("contain no CATs"):
        gold_source(files[:1])
    reason = "in test.json, 2 CATs have no votes"
    assert gold_source(files[1:]).off == {"no_votes": reason}


def test_a_release_without_any_vote(trusting: Campaign, forked: Any) -> None:
    campaign = trusting
    take(campaign, item("i1"), item("i2"))
    done = forked("run", "-c", campaign.root)
    assert done.code == 0, done.err
    readme = (campaign.folder("release") / "0.1.0" / "README.md").read_text("utf-8")
    assert "**All 2 CATs have no votes.**" in readme
    assert "so there is no agreement between annotators to report" in readme
    assert "is the label with at least" not in readme
    for option in ((), ("--by", "term,annotator,round"), ("--csv",), ("--latex",)):
        done = forked("decisions", "agreement", "-c", campaign.root, *option)
        assert (done.code, "nan" in done.out.lower()) == (0, False), done.err
    assert "% No label counts here" in done.out
    report = (campaign.folder("decisions") / "agreement.json").read_text("utf-8")
    assert "NaN" not in report
    done = forked("decisions", "filter", "-c", campaign.root)
    assert "2 CATs have no votes" in done.out
    assert "2 CATs have no votes; README.md" in forked("release", "build", "-c", campaign.root).out


def test_without_the_setting_the_items_are_named_with_it(campaign: Campaign, forked: Any) -> None:
    take(campaign, item("i1"), item("i2"))
    done = forked("decisions", "filter", "-c", campaign.root)
    text = "2 items have published gold labels and no votes: collect labels"
    assert text in done.out
    assert "trust_gold = true in [decisions]" in done.out
    assert decided(campaign) == dict.fromkeys(("i1", "i2"), (False, "too_few_labels"))
    done = forked("decisions", "agreement", "-c", campaign.root)
    assert "No label counts here" in done.out
    take(campaign, item("few", votes=2))
    run(campaign, "split", "statistics", "sentiment", "keywords", "pitfalls", "agreement")
    assert any(warning.startswith(text) for warning in read_status(campaign).warnings)
