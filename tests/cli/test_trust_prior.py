"""curation trust prior and curation trust debias: what they write, print and refuse."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from curation.steps.trust.files import read_run
from support.commands import Ran, set_to

WORDS = {
    "she": (2.0, 0.2, 0.0, 0.3),
    "aunt": (1.5, 0.1, 1.0, -0.2),
    "niece": (1.0, -0.3, 2.0, 0.1),
    "he": (-2.0, 0.1, 0.2, 0.2),
    "uncle": (-1.0, 0.3, 1.1, -0.1),
    "nephew": (-1.2, -0.2, 1.8, 0.4),
    "baker": (1.0, 1.0, 1.0, 0.5),
    "potter": (-1.0, 2.0, 0.5, 0.1),
    "weaver": (3.0, 0.4, 0.1, 0.9),
    "rose": (1.2, 1.5, 0.1, 0.2),
    "tulip": (0.9, 1.1, -0.3, 0.1),
    "beetle": (-0.8, 1.4, 0.3, 0.5),
    "moth": (-0.2, 1.9, -0.4, 0.3),
    "bride": (1.8, 0.9, 0.2, 0.1),
}
Run = Callable[..., Ran]
SETTINGS = """
[campaign]
id = "mild-tests"
language = "en"

[trust]
samples = 20

[groups.gender]
lists = {first = "first.txt", second = "second.txt"}
targets = "crafts.txt"

[groups.three]
lists = {first = "first.txt", second = "second.txt", third = "third.txt"}
targets = "crafts.txt"
"""
LISTS = {
    "first": "she aunt niece",
    "second": "he uncle nephew",
    "third": "rose tulip",
    "crafts": "baker potter weaver smith",
    "insects": "beetle moth wasp",
    "flowers": "rose tulip",
    "odd": "smith lamplighter",
    "pairs": "rose,beetle",
}


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "6-trust").mkdir()
    (tmp_path / "campaign.toml").write_text(SETTINGS, "utf-8")
    for name, words in LISTS.items():
        (tmp_path / "6-trust" / f"{name}.txt").write_text(words.replace(" ", "\n"), "utf-8")
    np.savez(
        tmp_path / "mild.npz",
        words=np.array(list(WORDS)),
        vectors=np.array(list(WORDS.values()), np.float32),
    )
    return tmp_path


def words(campaign: Path, name: str) -> Path:
    return campaign / "6-trust" / f"{name}.txt"


def test_every_measure_that_fits_is_a_run(campaign: Path, forked: Run) -> None:
    vectors = campaign / "mild.npz"
    done = forked("trust", "prior", vectors, "-c", campaign, "--groups", "gender")
    assert done.code == 0, done.err
    assert "positive, if a measure is signed: closer to first" in done.out
    assert done.err.count("no result for") == 1  # the same targets for all measures
    runs = sorted(path.parent.name for path in campaign.glob("6-trust/runs/*/gender-mild"))
    assert len(runs) == 8
    assert not [name for name in runs if "uncentred" in name]
    about = json.loads((campaign / "6-trust/runs/ripa-pairs/gender-mild/run.json").read_text())
    assert (about["pairs"], about["signed"], about["unit"]) == (3, True, False)
    lines = (campaign / "6-trust/runs/caliskan/gender-mild/bias.jsonl").read_text().splitlines()
    baker, *_, smith = map(json.loads, lines)
    assert baker["value"] > 0
    assert len(baker["value_ci"]) == 2
    assert smith["undefined"] == "missing_target"
    again = forked("trust", "prior", vectors, "-c", campaign, "--groups", "gender")
    assert again.out.count("(measured before)") == 8


def test_one_measure_on_vectors_of_length_1(campaign: Path, forked: Run) -> None:
    done = forked(
        *("trust", "prior", campaign / "mild.npz", "-c", campaign, "--json"),
        *("--groups", "gender", "--scale", "unit"),
        *("--measure", "bolukbasi-uncentred", "--measure", "bolukbasi-uncentred"),
    )
    (run,) = json.loads(done.out)["runs"]
    assert run["run"] == "bolukbasi-uncentred/gender-mild+unit"
    assert (run["pairs"], run["unit"], len(run["biases"])) == (3, True, 4)


def test_three_groups_are_measured_by_manzini_only(campaign: Path, forked: Run) -> None:
    done = forked("trust", "prior", campaign / "mild.npz", "-c", campaign, "--groups", "three")
    assert done.code == 0, done.err
    assert [path.parent.name for path in campaign.glob("6-trust/runs/*/three-mild")] == ["manzini"]


def test_lists_that_do_not_pair_up(campaign: Path, forked: Run) -> None:
    words(campaign, "first").write_text("she\nlass\n", "utf-8")
    words(campaign, "second").write_text("lad\nhe\n", "utf-8")
    done = forked("trust", "prior", campaign / "mild.npz", "-c", campaign, "--groups", "gender")
    assert done.code == 0, done.err
    assert "ripa-pairs needs 1 or more pairs of words with vectors; there are 0" in done.err
    assert len(list(campaign.glob("6-trust/runs/*/gender-mild"))) == 4
    assert done.err.count("1 word of 2 of the group «first» left out") == 1


def test_weat_is_in_the_run_of_caliskan(campaign: Path, forked: Run) -> None:
    x, y = words(campaign, "flowers"), campaign / "mild insects.v1.txt"
    words(campaign, "insects").rename(y)
    done = forked(
        *("trust", "prior", campaign / "mild.npz", "-c", campaign, "--groups", "gender"),
        *("--x", x, "--y", y),
    )
    assert done.code == 0, done.err
    assert [path.name for path in campaign.glob("6-trust/runs/*")] == ["caliskan"]
    assert "positive: flowers is closer to first than mild-insects.v1 is" in done.out
    folder = campaign / "6-trust/runs/caliskan/gender-mild+flowers-mild-insects.v1"
    weat = json.loads((folder / "run.json").read_text())["weat"]
    assert weat["missing"] == ["wasp"]
    assert weat["statistic"] > 0
    assert (weat["partitions"], weat["exact"]) == (6, True)  # two of four
    assert weat["p"] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--measure", "rnsb"], "--measure rnsb: no such measure"),
        (["--measure", "caliskan", "--groups", "three"], "compares two groups, and there are 3"),
        (["--x", "flowers"], "give both --x and --y"),
        (["--x", "flowers", "--y", "flowers"], "both named «flowers»"),
        (["--x", "flowers", "--y", "first"], "the target «first» is in the list of the group"),
        (["--x", "flowers", "--y", "third"], "«rose» is in both"),
        (["--x", "flowers", "--y", "odd"], "the set «odd» of WEAT: none of its words"),
        (["--x", "flowers", "--y", "insects", "--measure", "manzini"], "add --measure caliskan"),
        (["--x", "flowers", "--y", "none"], "none.txt: no such list of words"),
        (["--source", "../out"], "--source ../out"),
    ],
)
def test_prior_refuses(campaign: Path, forked: Run, options: list[str], message: str) -> None:
    files = {name: words(campaign, name) for name in (*LISTS, "none")}
    args = [files.get(option, option) for option in options]
    args += [] if "--groups" in options else ["--groups", "gender"]
    done = forked("trust", "prior", campaign / "mild.npz", "-c", campaign, *args)
    assert done.code == 1, done.out
    assert message in done.err
    assert "fix:" in done.err
    assert not list(campaign.glob("6-trust/runs/*/*"))


# --- debias -------------------------------------------------------------------------------------


def debias(campaign: Path, forked: Run, *options: str | Path, method: str = "hard") -> Ran:
    groups = "three" if method == "multiclass" else "gender"
    return forked(
        *("trust", "debias", campaign / "mild.npz", "-c", campaign, "--method", method),
        *("--groups", groups, "--out", campaign / "less.npz", *options),
    )


@pytest.mark.parametrize("method", ["hard", "multiclass", "soft"])
def test_debias_writes_vectors_and_what_was_done(campaign: Path, forked: Run, method: str) -> None:
    done = debias(campaign, forked, "--json", method=method)
    assert done.code == 0, done.err
    about = json.loads((campaign / "less.npz.json").read_text())
    assert about["words"] == len(WORDS)
    changes = {each["measure"]: each for each in about["changes"]}
    targeted = next(name for name in changes if changes[name]["targeted"])
    assert targeted == ("manzini" if method == "multiclass" else "direct bias (bolukbasi-pairs)")
    if method != "multiclass":
        assert changes[targeted]["after"] < changes[targeted]["before"]
    assert changes["vectors (L1)"]["n"] <= 3  # smith has no vector
    assert json.loads(done.out)["sha256_written"] == about["sha256_written"]
    with np.load(campaign / "less.npz") as saved:
        assert saved["words"].tolist() == list(WORDS)
        np.testing.assert_allclose(np.linalg.norm(saved["vectors"], axis=1), 1, rtol=1e-5)
    again = debias(campaign, forked, method=method)  # it may write its own file again
    assert again.code == 0, again.err
    assert json.loads((campaign / "less.npz.json").read_text()) == about


def test_the_report_compares_the_runs_that_debias_made(campaign: Path, forked: Run) -> None:
    done = debias(campaign, forked)
    assert done.code == 0, done.err
    pairs = [
        ["vectors/gender-less", "vectors/gender-mild"],
        ["bolukbasi-pairs/gender-less", "bolukbasi-pairs/gender-mild"],
    ]
    setting = f"mitigation = {json.dumps(pairs)}"
    assert f"write {setting} into [trust]" in " ".join(done.out.split())
    set_to(campaign, "[trust]", f"[trust]\n{setting}")
    assert forked("trust", "report", "-c", campaign).code == 0
    rows = json.loads((campaign / "6-trust" / "report.json").read_text())["rows"]
    compared = {row["check"] for row in rows if row["criterion"] == "mitigation"}
    assert {"optimised", "independent"} <= compared
    own = {row["name"] for row in rows if row["check"] == "optimised"}
    assert own == {"bolukbasi-pairs/gender-less"}


def test_words_that_are_kept_and_equalised(campaign: Path, forked: Run) -> None:
    (campaign / "keep.txt").write_text("bride\n", "utf-8")
    (campaign / "sets.txt").write_text("# pairs\nrose, beetle\nlass lad\n", "utf-8")
    done = debias(
        campaign, forked, "--keep", campaign / "keep.txt", "--equalise", campaign / "sets.txt"
    )
    assert done.code == 0, done.err
    about = json.loads((campaign / "less.npz.json").read_text())
    assert about["equalised"] == ["beetle", "rose"]
    assert about["not_equalised"] == [["lass", "lad"]]
    assert {"bride", "she", "he"} <= set(about["kept"])
    with np.load(campaign / "less.npz") as saved:
        rows = dict(zip(saved["words"].tolist(), saved["vectors"], strict=True))
    for word in ("bride", "she"):
        expected = np.array(WORDS[word]) / np.linalg.norm(WORDS[word])
        np.testing.assert_allclose(rows[word], expected, rtol=1e-5)
    assert rows["baker"] @ rows["rose"] == pytest.approx(rows["baker"] @ rows["beetle"], abs=1e-6)


def test_words_that_were_fitted_do_not_judge(campaign: Path, forked: Run) -> None:
    words(campaign, "other").write_text("rose\nshe\n", "utf-8")
    words(campaign, "another").write_text("beetle\nHE\n", "utf-8")
    path = campaign / "campaign.toml"
    lists = 'lists = { first = "other.txt", second = "another.txt" }\ntargets = "crafts.txt"'
    path.write_text(f"{path.read_text('utf-8')}\n[groups.other]\n{lists}\n", "utf-8")
    done = debias(campaign, forked, "--json", "--judge", "other", "--judge", "gender")
    assert done.code == 0, done.err
    about = json.loads(done.out)
    assert about["fitted"] == sorted(about["fitted"])
    assert {"she", "he"} <= set(about["fitted"])
    assert "baker" not in about["fitted"]
    assert about["runs"] == [
        [f"{measure}/{name}-less", f"{measure}/{name}-mild"]
        for measure in ("vectors", "bolukbasi-pairs")
        for name in ("other", "gender")
    ]
    for name in ("other", "gender"):
        after = read_run(campaign / f"6-trust/runs/vectors/{name}-less")
        fitted = {"method": "hard", "fitted": about["fitted"]}
        assert after.about["debiased"] == after.about["identity"]["debiased"] == fitted
        (found,) = (each for each in after.evidence if each.check == "held_out")
        assert (found.criterion, found.unit) == ("mitigation", "targets")
        if name == "gender":
            assert (found.value, found.n) == (None, 0)
            assert "no word of «first», «second» is left to judge with" in found.detail
            assert "judge with a table of other words: --judge NAME" in found.detail
        else:
            assert found.value is not None
            assert "of 4 group words 2, and of 4 targets 3 have a vector" in found.detail
        before = read_run(campaign / f"6-trust/runs/vectors/{name}-mild")
        assert "debiased" not in before.about
        assert not [each for each in before.evidence if each.check == "held_out"]
    # Measured alone, the run is the same; with other settings, debias adds the evidence again.
    less = ("trust", "vectors", campaign / "less.npz", "-c", campaign, "--groups", "other")
    assert "measured before" in forked(*less).out
    set_to(campaign, "[trust]", '[trust]\nnegative = "clip"')
    assert "measured before" not in forked(*less).out
    folder = campaign / "6-trust/runs/vectors/other-less"
    assert "held_out" not in {each.check for each in read_run(folder).evidence}
    assert debias(campaign, forked, "--judge", "other").code == 0
    assert "held_out" in {each.check for each in read_run(folder).evidence}


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("hard", ["--judge", "colour"], "there are no groups «colour»"),
        ("hard", ["--judge", "three"], "bolukbasi-pairs compares two groups, and there are 3"),
        ("hard", ["--groups", "three"], "hard takes two groups, and there are 3"),
        ("soft", ["--equalise", "pairs"], "soft does not equalise words"),
        ("hard", ["--equalise", "flowers"], "flowers.txt line 1: has 1 words, not 2"),
        ("hard", ["--dimensions", "9"], "the words span 3 dimensions, not 9"),
        ("hard", ["--out", "mild.npz"], "is the file that is read"),
        ("hard", ["--out", "campaign.toml"], "this command did not write it"),
        ("hard", ["--out", "less.kv"], "cannot tell the form from the name"),
        ("hard", ["--keep", "none"], "none.txt: no such list of words"),
    ],
)
def test_debias_refuses(
    campaign: Path, forked: Run, method: str, options: list[str], message: str
) -> None:
    places = {name: words(campaign, name) for name in (*LISTS, "none")}
    places |= {name: campaign / name for name in ("mild.npz", "campaign.toml", "less.kv")}
    before = {path: path.read_bytes() for path in campaign.glob("*.*")}
    args = [o if o == "three" else places.get(o, o) for o in options]
    done = debias(campaign, forked, *args, method=method)
    assert done.code == 1, done.out
    assert message in done.err
    assert {path: path.read_bytes() for path in campaign.glob("*.*")} == before


def test_debias_replaces_only_its_own_files(campaign: Path, forked: Run) -> None:
    notes = campaign / "less.npz.json"
    notes.write_text("my notes", "utf-8")
    done = debias(campaign, forked)
    assert done.code == 1
    assert "less.npz.json, and this command did not write it" in " ".join(done.err.split())
    assert notes.read_text("utf-8") == "my notes"
    assert not (campaign / "less.npz").exists()


def test_debias_names_the_file_without_the_words(campaign: Path, forked: Run) -> None:
    words(campaign, "first").write_text("lass\nmaid\n", "utf-8")
    for done in (
        debias(campaign, forked),
        forked("trust", "prior", campaign / "mild.npz", "-c", campaign),
    ):
        error = " ".join(done.err.split())
        assert done.code == 1
        assert "mild.npz: [groups.gender]: no word of the group" in error
        assert "has a vector: lass, maid fix:" in error


def test_a_word_in_two_sets_is_refused(campaign: Path, forked: Run) -> None:
    (campaign / "sets.txt").write_text("rose beetle\nmoth rose\n", "utf-8")
    done = debias(campaign, forked, "--equalise", campaign / "sets.txt")
    assert (done.code, "sets.txt line 2: «rose» is also in line 1" in done.err) == (1, True)
