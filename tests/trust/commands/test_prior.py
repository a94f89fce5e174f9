"""curation trust prior and curation trust debias: what they write, print and refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from curation.formats.word_vectors import write_vectors
from curation.trust.runs.files import read_run
from support.commands import Ran, set_to
from support.written import beside

TABLES = beside(__file__)

MADE = beside(__file__, "crafts.toml")
WORDS, LISTS = MADE["vectors"], MADE["lists"]


class Crafts(NamedTuple):
    """A campaign with two tables of groups, and the file of vectors ``mild.npz``."""

    root: Path
    forked: Callable[..., Ran]

    def words(self, name: str) -> Path:
        return self.root / "6-trust" / f"{name}.txt"

    def prior(self, *options: str | Path) -> Ran:
        groups = () if "--groups" in options else ("--groups", "gender")
        words = ("trust", "prior", self.root / "mild.npz", "-c", self.root, *groups)
        return self.forked(*words, *options)

    def debias(self, *options: str | Path, method: str = "hard") -> Ran:
        groups = "three" if method == "multiclass" else "gender"
        words = ("trust", "debias", self.root / "mild.npz", "-c", self.root, "--method", method)
        return self.forked(*words, "--groups", groups, "--out", self.root / "less.npz", *options)

    def runs(self, name: str) -> list[str]:
        """The measures that have a run of this name."""
        return sorted(path.parent.name for path in self.root.glob(f"6-trust/runs/*/{name}"))

    def json(self, path: str) -> Any:
        return json.loads((self.root / path).read_text("utf-8"))


@pytest.fixture
def crafts(tmp_path: Path, forked: Callable[..., Ran]) -> Crafts:
    made = Crafts(tmp_path, forked)
    (tmp_path / "6-trust").mkdir()
    (tmp_path / "campaign.toml").write_text(MADE["settings"], "utf-8")
    for name, words in LISTS.items():
        made.words(name).write_text(words.replace(" ", "\n"), "utf-8")
    write_vectors(tmp_path / "mild.npz", [(list(WORDS), np.array([*WORDS.values()], np.float32))])
    return made


def test_every_measure_that_fits_is_a_run(crafts: Crafts) -> None:
    done = crafts.prior()
    assert done.code == 0, done.err
    assert "positive, if a measure is signed: closer to first" in done.out
    assert done.err.count("no result for") == 1  # the same targets for all measures
    runs = crafts.runs("gender-mild")
    assert len(runs) == 8
    assert not [name for name in runs if "uncentred" in name]
    about = crafts.json("6-trust/runs/ripa-pairs/gender-mild/run.json")
    assert (about["pairs"], about["signed"], about["unit"]) == (3, True, False)
    lines = (crafts.root / "6-trust/runs/caliskan/gender-mild/bias.jsonl").read_text().splitlines()
    baker, *_, smith = map(json.loads, lines)
    assert baker["value"] > 0
    assert len(baker["value_ci"]) == 2
    assert smith["undefined"] == "missing_target"
    assert crafts.prior().out.count("(measured before)") == 8
    # Three groups are measured by manzini only.
    done = crafts.prior("--groups", "three")
    assert done.code == 0, done.err
    assert crafts.runs("three-mild") == ["manzini"]


def test_one_measure_on_vectors_of_length_1(crafts: Crafts) -> None:
    done = crafts.prior("--json", "--scale", "unit", *("--measure", "bolukbasi-uncentred") * 2)
    (run,) = json.loads(done.out)["runs"]
    assert run["run"] == "bolukbasi-uncentred/gender-mild+unit"
    assert (run["pairs"], run["unit"], len(run["biases"])) == (3, True, 4)


def test_lists_that_do_not_pair_up(crafts: Crafts) -> None:
    crafts.words("first").write_text("she\nlass\n", "utf-8")
    crafts.words("second").write_text("lad\nhe\n", "utf-8")
    done = crafts.prior()
    assert done.code == 0, done.err
    assert "ripa-pairs needs 1 or more pairs of words with vectors; there are 0" in done.err
    assert len(crafts.runs("gender-mild")) == 4
    assert done.err.count("1 word of 2 of the group «first» left out") == 1


def test_weat_is_in_the_run_of_caliskan(crafts: Crafts) -> None:
    y = crafts.words("insects").rename(crafts.root / "mild insects.v1.txt")
    done = crafts.prior("--x", crafts.words("flowers"), "--y", y)
    assert done.code == 0, done.err
    assert crafts.runs("*") == ["caliskan"]
    assert "positive: flowers is closer to first than mild-insects.v1 is" in done.out
    weat = crafts.json("6-trust/runs/caliskan/gender-mild+flowers-mild-insects.v1/run.json")["weat"]
    assert weat["missing"] == ["wasp"]
    assert weat["statistic"] > 0
    assert (weat["partitions"], weat["exact"]) == (6, True)  # two of four
    assert weat["p"] == pytest.approx(1 / 6)


@pytest.mark.parametrize(("options", "message"), TABLES["prior_refuses"])
def test_prior_refuses(crafts: Crafts, options: list[str], message: str) -> None:
    files = {name: crafts.words(name) for name in (*LISTS, "none")}
    done = crafts.prior(*(files.get(option, option) for option in options))
    assert done.code == 1, done.out
    assert message in done.err
    assert "fix:" in done.err
    assert crafts.runs("*") == []


# --- debias -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["hard", "multiclass", "soft"])
def test_debias_writes_vectors_and_what_was_done(crafts: Crafts, method: str) -> None:
    done = crafts.debias("--json", method=method)
    assert done.code == 0, done.err
    about = crafts.json("less.npz.json")
    assert about["words"] == len(WORDS)
    changes = {each["measure"]: each for each in about["changes"]}
    targeted = next(name for name in changes if changes[name]["targeted"])
    assert targeted == ("manzini" if method == "multiclass" else "direct bias (bolukbasi-pairs)")
    if method != "multiclass":
        assert changes[targeted]["after"] < changes[targeted]["before"]
    assert changes["vectors (L1)"]["n"] <= 3  # smith has no vector
    assert json.loads(done.out)["sha256_written"] == about["sha256_written"]
    with np.load(crafts.root / "less.npz") as saved:
        assert saved["words"].tolist() == list(WORDS)
        np.testing.assert_allclose(np.linalg.norm(saved["vectors"], axis=1), 1, rtol=1e-5)
    again = crafts.debias(method=method)  # it may write its own file again
    assert again.code == 0, again.err
    assert crafts.json("less.npz.json") == about


def test_the_report_compares_the_runs_that_debias_made(crafts: Crafts) -> None:
    done = crafts.debias()
    assert done.code == 0, done.err
    pairs = [
        ["vectors/gender-less", "vectors/gender-mild"],
        ["bolukbasi-pairs/gender-less", "bolukbasi-pairs/gender-mild"],
    ]
    setting = f"mitigation = {json.dumps(pairs)}"
    assert f"write {setting} into [trust]" in " ".join(done.out.split())
    set_to(crafts.root, "[trust]", f"[trust]\n{setting}")
    assert crafts.forked("trust", "report", "-c", crafts.root).code == 0
    rows = crafts.json("6-trust/report.json")["rows"]
    compared = {row["check"] for row in rows if row["criterion"] == "mitigation"}
    assert "independent:vectors/gender-mild" in compared
    own = {row["name"]: row["check"] for row in rows if row["check"].startswith("optimised")}
    assert own == {"bolukbasi-pairs/gender-less": "optimised:bolukbasi-pairs/gender-mild"}


def test_debias_does_not_measure_the_original_again_under_another_name(crafts: Crafts) -> None:
    original = ("trust", "vectors", crafts.root / "mild.npz", "-c", crafts.root)
    done = crafts.forked(*original, "--groups", "gender", "--source", "first")
    assert done.code == 0, done.err
    assert 'mitigation = [["vectors/gender-less", "vectors/gender-first"]' in crafts.debias().out
    assert crafts.runs("gender-mild") == []
    done = crafts.debias("--source", "second")
    assert '["vectors/gender-less", "vectors/gender-second"]' in done.out


def test_words_that_are_kept_and_equalised(crafts: Crafts) -> None:
    keep, sets = crafts.root / "keep.txt", crafts.root / "sets.txt"
    keep.write_text("bride\n", "utf-8")
    sets.write_text("# pairs\nrose, beetle\nlass lad\n", "utf-8")
    done = crafts.debias("--keep", keep, "--equalise", sets)
    assert done.code == 0, done.err
    about = crafts.json("less.npz.json")
    assert about["equalised"] == ["beetle", "rose"]
    assert about["not_equalised"] == [["lass", "lad"]]
    assert {"bride", "she", "he"} <= set(about["kept"])
    with np.load(crafts.root / "less.npz") as saved:
        rows = dict(zip(saved["words"].tolist(), saved["vectors"], strict=True))
    for word in ("bride", "she"):
        expected = np.array(WORDS[word]) / np.linalg.norm(WORDS[word])
        np.testing.assert_allclose(rows[word], expected, rtol=1e-5)
    assert rows["baker"] @ rows["rose"] == pytest.approx(rows["baker"] @ rows["beetle"], abs=1e-6)


def test_words_that_were_fitted_do_not_judge(crafts: Crafts) -> None:
    crafts.words("other").write_text("rose\nshe\n", "utf-8")
    crafts.words("another").write_text("beetle\nHE\n", "utf-8")
    path = crafts.root / "campaign.toml"
    lists = 'lists = { first = "other.txt", second = "another.txt" }\ntargets = "crafts.txt"'
    path.write_text(f"{path.read_text('utf-8')}\n[groups.other]\n{lists}\n", "utf-8")
    done = crafts.debias("--json", "--judge", "other", "--judge", "gender")
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
        after = read_run(crafts.root / f"6-trust/runs/vectors/{name}-less")
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
        before = read_run(crafts.root / f"6-trust/runs/vectors/{name}-mild")
        assert "debiased" not in before.about
        assert not [each for each in before.evidence if each.check == "held_out"]
    # Measured alone, the run is the same; with other settings, debias adds the evidence again.
    less = ("trust", "vectors", crafts.root / "less.npz", "-c", crafts.root, "--groups", "other")
    assert "measured before" in crafts.forked(*less).out
    set_to(crafts.root, "[trust]", '[trust]\nnegative = "clip"')
    assert "measured before" not in crafts.forked(*less).out
    folder = crafts.root / "6-trust/runs/vectors/other-less"
    assert "held_out" not in {each.check for each in read_run(folder).evidence}
    assert crafts.debias("--judge", "other").code == 0
    assert "held_out" in {each.check for each in read_run(folder).evidence}


@pytest.mark.parametrize(("method", "options", "message"), TABLES["debias_refuses"])
def test_debias_refuses(crafts: Crafts, method: str, options: list[str], message: str) -> None:
    places = {name: crafts.words(name) for name in (*LISTS, "none")}
    places |= {name: crafts.root / name for name in ("mild.npz", "campaign.toml", "less.kv")}
    before = {path: path.read_bytes() for path in crafts.root.glob("*.*")}
    args = [o if o == "three" else places.get(o, o) for o in options]
    done = crafts.debias(*args, method=method)
    assert done.code == 1, done.out
    assert message in done.err
    assert {path: path.read_bytes() for path in crafts.root.glob("*.*")} == before


def test_debias_replaces_only_its_own_files(crafts: Crafts) -> None:
    notes = crafts.root / "less.npz.json"
    notes.write_text("my notes", "utf-8")
    done = crafts.debias()
    assert done.code == 1
    assert "less.npz.json, and this command did not write it" in " ".join(done.err.split())
    assert notes.read_text("utf-8") == "my notes"
    assert not (crafts.root / "less.npz").exists()


def test_debias_names_the_file_without_the_words(crafts: Crafts) -> None:
    crafts.words("first").write_text("lass\nmaid\n", "utf-8")
    every = ("trust", "prior", crafts.root / "mild.npz", "-c", crafts.root)
    for done in (crafts.debias(), crafts.forked(*every)):
        error = " ".join(done.err.split())
        assert done.code == 1
        assert "mild.npz: [groups.gender]: no word of the group" in error
        assert "has a vector: lass, maid fix:" in error
