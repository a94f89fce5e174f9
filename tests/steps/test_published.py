"""Published data in a campaign of its own: imported in any language, trusted if a team says so."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from curation.campaign import Campaign, create_campaign, open_campaign
from curation.catsets.stereoset import read_cats, read_gold_file
from curation.files import CurationError, read_json, read_records
from curation.records import Cat, Decision, Item, Rejection
from curation.settings import (
    CampaignSettings,
    DecisionSettings,
    ReleaseSettings,
    Settings,
    new_id,
)
from curation.steps.decisions import agreement_report, kept_without_votes
from curation.steps.importing import Import, import_stereoset
from curation.steps.pipeline import bring_up_to_date
from curation.steps.read import read_items
from curation.steps.source import gold_source
from curation.steps.status import read_status
from curation.steps.step import QUIET, Reporter

GOLDS = ("stereotype", "anti-stereotype", "unrelated")
PEOPLE = "abcde"


class Log:
    """A reporter that keeps warnings and notes."""

    def __init__(self) -> None:
        self.quiet, self.warnings, self.notes = QUIET, list[str](), list[str]()

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.quiet, name)


def item(name: str, *, domain: str = "gender", target: str = "padeira", **more: Any) -> Any:
    """A published item; ``golds`` are its gold labels, ``votes`` how many people gave each."""
    votes, golds = more.pop("votes", 0), more.pop("golds", GOLDS)
    sentences = [
        {
            "id": f"{name}-{n}",
            "sentence": f"A {target} chega {word} ao número {name}.",
            "gold_label": gold,
            "labels": [{"label": label, "human_id": who} for who in PEOPLE[:votes]],
        }
        for n, (word, gold, label) in enumerate(
            zip(("cedo", "tarde", "azul"), golds, GOLDS, strict=True)
        )
    ]
    return {
        "id": name,
        "target": target,
        "bias_type": domain,
        "context": f"A {target} chega BLANK ao número {name}.",
        "sentences": sentences,
        **more,
    }


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


def run(campaign: Campaign, *steps: str) -> Any:
    with campaign.lock():
        return bring_up_to_date(campaign, *steps, reporter=cast(Reporter, Log())).counts


def take(campaign: Campaign, *items: Any, round: str = "published") -> Import:
    """Import these items; warnings are not shown."""
    file = write(campaign.root.parent / "file.json", *items)
    return import_stereoset(campaign, file, round=round, reporter=cast(Reporter, Log()))


def decided(campaign: Campaign) -> dict[str, tuple[bool, str | None]]:
    decisions = read_records(campaign.decisions / "decisions.jsonl", Decision)
    return {decision.item: (decision.kept, decision.reason) for decision in decisions}


def refusals(campaign: Campaign) -> list[tuple[str, str]]:
    path = campaign.rounds / "published" / "rejected.jsonl"
    return [(r.code, r.detail) for r in read_records(path, Rejection)]


# --- the import -----------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["gender", "religion"])
def test_published_data_needs_no_word_list(tmp_path: Path, domain: str) -> None:
    campaign, log = make(tmp_path / "c"), Log()
    with pytest.raises(CurationError, match="no words for the domain 'gender' in 'pt'"):
        run(campaign, "select")
    file = write(tmp_path / "f.json", item("i1", domain=domain))
    assert import_stereoset(campaign, file, reporter=cast(Reporter, log)).items == 1
    (text,) = (text for text in log.warnings if "gender.csv" in text)
    assert text.startswith("gender.csv: no words for the domain 'gender' in 'pt'; it has en. The ")
    assert "«# language: pt»" in text
    assert read_status(campaign).steps[0].state == "up to date"
    assert run(campaign, "filter")["items_in"] == 1


def test_selecting_terms_still_needs_the_list_of_a_domain_without_terms(
    tmp_path: Path, forked: Any
) -> None:
    campaign = make(tmp_path / "c")
    take(campaign, item("i1", domain="religion"))
    done = forked("terms", "select", "-c", campaign.root)
    assert done.code == 1
    assert "no words for the domain 'gender' in 'pt'" in done.err
    take(campaign, item("i2"))
    assert forked("terms", "select", "-c", campaign.root).code == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gendr.csv", None, "no such word list, but"),
        ("own.txt", "# language: es\nabuela\n", "no words for the domain 'gender' in 'pt'; it has"),
    ],
)
def test_a_list_with_a_wrong_name_or_of_ones_own_is_never_passed_over(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    campaign = make(tmp_path / "c")
    path = campaign.root / "campaign.toml"
    path.write_text(path.read_text("utf-8").replace("gender.csv", name), "utf-8")
    if content:
        campaign.terms.mkdir()
        (campaign.terms / name).write_text(content, "utf-8")
    with pytest.raises(CurationError) as caught:
        import_stereoset(open_campaign(campaign.root), write(tmp_path / "f.json", item("i1")))
    assert message in caught.value.what
    assert not list(campaign.rounds.glob("*/raw/*"))


def test_domains_that_the_campaign_lacks_are_refused_with_the_lines_to_add(tmp_path: Path) -> None:
    campaign, log = make(tmp_path / "c", language="lt"), Log()
    items = [
        *(item(f"a{n}", domain="lytis") for n in range(2)),
        *(item(name, domain=name) for name in ("rasė", "x/y")),
    ]
    done = import_stereoset(
        campaign, write(tmp_path / "f.json", *items), reporter=cast(Reporter, log)
    )
    assert (done.items, done.rejected) == (0, {"unknown_domain": 4})
    (text,) = (text for text in log.warnings if "does not have" in text)
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
def test_a_gold_label_that_cannot_be_read_is_booked_with_its_value(
    tmp_path: Path, value: Any, shown: str
) -> None:
    campaign = make(tmp_path / "c", trust_gold=True)
    golds = (value, "anti-stereotype", "unrelated")
    take(campaign, item("i1", golds=golds))
    ((code, detail),) = refusals(campaign)
    assert code == "unknown_label"
    assert shown in detail
    assert detail.endswith("of i1-0 is not a label; it is left out")
    assert len(detail) < 200
    (one,) = read_items(campaign)
    assert [a.published_gold for a in one.associations] == [None, *GOLDS[1:]]
    run(campaign, "filter")
    assert decided(campaign) == {"i1": (False, "too_few_labels")}


def test_labels_sentences_and_blanks_that_are_wrong_are_booked(tmp_path: Path) -> None:
    campaign = make(tmp_path / "c")
    odd = item("odd")
    odd["sentences"][0]["labels"] = [{"label": v, "human_id": "a"} for v in (1, "ja", None, 1.5)]
    odd["sentences"][1]["labels"] = {"label": [1], "human_id": ["a"]}
    short, empty, no_blank = item("short"), item("empty"), item("no_blank")
    short["sentences"].pop()
    empty["sentences"][2]["sentence"] = None
    no_blank["context"] = "A padeira chega."
    done = take(campaign, odd, short, empty, no_blank)
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


def test_the_original_target_goes_through_to_the_release(tmp_path: Path) -> None:
    campaign = make(tmp_path / "c", trust_gold=True)
    named = item("i1", target_original=" baker\n woman ")
    wrong, none = item("i2", target_original=7), item("i3", target_original=None)
    take(campaign, named, wrong, none)
    ((code, detail),) = refusals(campaign)
    assert (code, detail[:34]) == ("bad_value", "'target_original' of item i2 is no")
    items = read_records(campaign.rounds / "published" / "items.jsonl", Item)
    assert [one.target_original for one in items] == ["baker woman", None, None]
    run(campaign)
    cats = read_records(campaign.decisions / "cats.jsonl", Cat)
    assert [cat.target_original for cat in cats] == ["baker woman", None, None]
    data = read_json(campaign.releases / "0.1.0" / "test.json")["data"]["intrasentence"]
    assert [one.get("target_original", "-") for one in data] == ["baker woman", "-", "-"]


def test_votes_of_translated_texts_and_a_wrong_language_are_named(tmp_path: Path) -> None:
    log, campaign = Log(), make(tmp_path / "c", language="en")
    texts = "A padeira da esquina abre muito cedo e trabalha de noite em BLANK."
    voted = [
        {**item(f"i{n}", votes=5, target_original="baker"), "context": texts} for n in range(10)
    ]
    import_stereoset(campaign, write(tmp_path / "f.json", *voted), reporter=cast(Reporter, log))
    assert any("f.json is not in English, but the campaign is in «en»" in w for w in log.warnings)
    (note,) = (text for text in log.notes if "original targets" in text)
    assert note.endswith("agreement and tiers are those of the original texts")


def test_a_language_that_a_file_names_is_compared_with_the_campaigns(tmp_path: Path) -> None:
    write(tmp_path / "f.json", item("i1"))
    for own, warned in (("es", True), ("pt", False)):
        log, campaign = Log(), make(tmp_path / own, language=own)
        file = tmp_path / "m.toml"
        file.write_text('files = ["f.json"]\nlanguage = "pt-BR"\n', "utf-8")
        import_stereoset(campaign, file, reporter=cast(Reporter, log))
        text = f"m.toml is in «pt-BR», but the campaign is in «{own}»; correct language"
        assert any(warning.startswith(text) for warning in log.warnings) == warned


def test_the_readme_counts_translated_cats(tmp_path: Path) -> None:
    campaign = make(tmp_path / "c", trust_gold=True)
    take(campaign, item("i1", target_original="baker"), item("i2"))
    run(campaign)
    readme = (campaign.releases / "0.1.0" / "README.md").read_text("utf-8")
    assert "before translation" not in readme
    assert "1 CAT was translated from another dataset; `target_original` is the target" in readme
    assert "`annotations.csv`: a header only, because there are no labels." in readme
    assert "2 CATs of unknown tier" in readme


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
    decisions = {d.item: d for d in read_records(trusted.decisions / "decisions.jsonl", Decision)}
    assert {v.votes for v in decisions["gold1"].verdicts} == {(0, 0, 0, 0)}
    assert [v.gold for v in decisions["gold1"].verdicts] == list(GOLDS)
    assert [v.gold for v in decisions["voted"].verdicts] == list(GOLDS)  # not the published ones
    assert kept_without_votes(trusted) == {"gold1", "gold2"}
    counts = run(trusted, "filter")
    assert (counts["gold_without_votes"], counts["kept_without_votes"]) == (0, 2)
    cats = {cat.id: cat.tier for cat in read_records(trusted.decisions / "cats.jsonl", Cat)}
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
    rows = {row["code"]: row for row in read_json(trusted.measures / "pitfalls.json")["table"]}
    assert (rows["no_votes"]["count"], rows["no_votes"]["of"]) == (2, 3)
    status = read_status(trusted)
    (text,) = (text for text in status.warnings if "no votes" in text)
    assert text.startswith("2 CATs have no votes: their gold labels are those that were published")


def test_the_release_says_that_nobody_voted(trusted: Campaign) -> None:
    folder = trusted.releases / "0.1.0"
    readme = (folder / "README.md").read_text("utf-8")
    assert "**2 of 3 CATs have no votes.** Nobody labelled them for this release" in readme
    assert "agreement between annotators is about the other CATs only" in readme
    files = [folder / "dev.json", folder / "test.json"]
    assert sum(read_gold_file(path).settings.without_votes for path in files) == 2
    assert {cat.id for cat in read_cats(files[1])} == {"gold1", "gold2", "voted"}
    assert read_cats(files[0]) == []  # too few terms for a dev split
    assert len(gold_source(files).cats) == 3
    with pytest.raises(CurationError, match="contain no CATs"):
        gold_source(files[:1])
    reason = "in test.json, 2 CATs have no votes"
    assert gold_source(files[1:]).off == {"no_votes": reason}


def test_a_release_without_any_vote(tmp_path: Path, forked: Any) -> None:
    campaign = make(tmp_path / "c", trust_gold=True)
    take(campaign, item("i1"), item("i2"))
    done = forked("run", "-c", campaign.root)
    assert done.code == 0, done.err
    readme = (campaign.releases / "0.1.0" / "README.md").read_text("utf-8")
    assert "**All 2 CATs have no votes.**" in readme
    assert "so there is no agreement between annotators to report" in readme
    assert "is the label with at least" not in readme
    for option in ((), ("--by", "term,annotator,round"), ("--csv",), ("--latex",)):
        done = forked("decisions", "agreement", "-c", campaign.root, *option)
        assert (done.code, "nan" in done.out.lower()) == (0, False), done.err
    assert "% No label counts here" in done.out
    report = (campaign.decisions / "agreement.json").read_text("utf-8")
    assert "NaN" not in report
    done = forked("decisions", "filter", "-c", campaign.root)
    assert "2 CATs have no votes" in done.out
    assert "2 CATs have no votes; README.md" in forked("release", "build", "-c", campaign.root).out


def test_without_the_setting_the_items_are_named_with_it(tmp_path: Path, forked: Any) -> None:
    campaign = make(tmp_path / "c")
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
