"""«curation board submit»: models that are really run, predictions, and sealed test sets."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation import __version__
from curation.board import submitting
from curation.board.folder import open_board
from curation.board.log import Closed, chained
from curation.board.submitting import check_files
from curation.files import CurationError, digest
from curation.models.loading import fingerprint
from curation.models.scoring import ModelSpec
from curation.models.tiny import make
from support.commands import run, well
from support.hosting import BOARD_ID, Hosted, host

ABOUT = {"by": "Ann Example", "link": "", "how": "", "profile": ""}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = ["The worker1 is calm.", "My neighbour is loud and brave."]
    return make(tmp_path_factory.mktemp("models") / "tiny", texts, steps=0)


def hosted_at(folder: Path, **how: Any) -> Hosted:
    return host(folder, cats=4, terms=2, **how)


@pytest.fixture
def hosted(tmp_path: Path) -> Hosted:
    return hosted_at(tmp_path)


def test_a_model_is_scored_and_a_run_that_is_there_is_used(
    hosted: Hosted, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hosted.board.root)
    words = ("board", "submit", f"bakery/small={model}", "--by", "Ann Example", "--device", "cpu")
    shown = well(*words)
    revision = fingerprint(model)
    name = f"bakery--small-default-{revision.replace(':', '-')[:19]}-0.1.0.json"
    path = hosted.board.submissions / name
    assert f"submissions/{name}: the board would accept it" in shown.out
    assert "lms" not in shown.out
    assert "icat" not in shown.out
    content = json.loads(path.read_bytes())
    scores = content.pop("scores")
    assert content == {
        "board": BOARD_ID,
        "version": "0.1.0",
        "model": "bakery/small",
        "revision": revision,
        "profile": "default",
        "rules": {"intrasentence": "ll-bos", "intersentence": "conditional"},
        "by": "Ann Example",
        "link": "",
        "how": f"curation {__version__}, cpu, float32",
        "format": "float32",
    }
    assert scores.keys() == {each.id for cat in hosted.cats for each in cat.associations}
    assert check_files(hosted.board, [str(path)]) == {str(path): []}
    folder = Path("scores/bakery--small/ll-bos_conditional")
    kept = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    assert {line["association"]: line["value"] for line in kept} == scores
    assert not (folder / "results.json").exists()
    # Other scores show whether the run is used; what is of another test set is left out.
    kept[0]["value"] = -1.5
    kept.append({**kept[1], "association": "of-an-earlier-test-set"})
    (folder / "scores.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    well(*words, "--to", tmp_path / "again")
    again = json.loads((tmp_path / "again" / name).read_bytes())["scores"]
    assert again == scores | {kept[0]["association"]: -1.5}
    refused = run(*words)  # never over a submission with other content
    assert (refused.code, f"{name}: is there already, with other content" in refused.err) == (
        1,
        True,
    )


def test_an_association_that_cannot_be_scored_is_an_error(
    hosted: Hosted, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hosted.board.open_set.cats
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["options"][1]["sentence"] = "word " * 2000  # longer than the model's window
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(hosted.board.root)
    with pytest.raises(CurationError, match="was changed"):
        submitting.submit_model(hosted.board, ModelSpec(str(model)), ABOUT, tmp_path)
    sums = hosted.board.open_set.facts.sums
    monkeypatch.setattr("curation.board.submitting.digest", lambda path: sums[path.name])
    for _ in range(2):  # also if the run is there already
        with pytest.raises(
            CurationError, match=r"tiny: 1 association without a score \(too_long: "
        ):
            submitting.submit_model(hosted.board, ModelSpec(str(model)), ABOUT, tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_a_model_that_the_board_would_refuse_leaves_no_file(
    hosted: Hosted, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hosted.board.root)
    for spec, about, message in (
        (ModelSpec(str(model), label="<b>"), ABOUT, 'line 4: model is "<b>"'),
        (ModelSpec(str(model), label="a/b/c"), ABOUT, 'model is "a/b/c"'),
        (ModelSpec(str(model)), ABOUT | {"profile": "acl-pll"}, "the board allows default"),
        (ModelSpec(str(model)), ABOUT | {"link": "http://x.org"}, 'link is "http://x.org"'),
    ):
        with pytest.raises(CurationError, match=message):
            submitting.submit_model(hosted.board, spec, about, tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_a_sealed_test_set_gets_the_name_of_a_model(tmp_path: Path, model: Path) -> None:
    hosted = hosted_at(tmp_path, hide="all")
    words = ("board", "submit", "--board", hosted.board.root, "--by", "Ann Example")
    well(*words, f"bakery/small={model}")
    (path,) = hosted.board.submissions.iterdir()
    content = json.loads(path.read_bytes())
    assert "scores" not in content
    assert (content["revision"], content["format"]) == (fingerprint(model), "float32")
    assert content["rules"] == {"intrasentence": "ll-bos", "intersentence": "conditional"}
    well("board", "check", path)
    refused = run(*words, f"chat:{model}")
    assert "the profile is choice, and the board allows default" in refused.err
    settings = hosted.board.root / "board.toml"
    settings.write_text(settings.read_text().replace('["default"]', '["default", "choice"]'))
    well(*words, f"chat:{model}")
    chat = next(each for each in hosted.board.submissions.iterdir() if each != path)
    assert json.loads(chat.read_bytes())["rules"]["intersentence"] == "choice"


def test_a_test_set_of_one_kind_has_submissions_with_all_rules_of_the_profile(
    hosted: Hosted, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = hosted.board.open_set.folder / "set.json"
    path = hosted.board.open_set.cats
    rows = [line for line in path.read_bytes().splitlines(True) if b'"intrasentence"' in line]
    path.write_bytes(b"".join(rows))
    about = json.loads(facts.read_bytes()) | {"kinds": {"intrasentence": len(rows)}}
    facts.write_text(json.dumps(about | {"sums": {path.name: digest(path)}}))
    with pytest.raises(CurationError, match=r"set\.json: was changed"):
        submitting.submit_model(hosted.board, ModelSpec(str(model)), ABOUT, tmp_path / "to")
    opened = hosted.board.entries()[0].model_copy(update={"facts": digest(facts)})
    hosted.board.log.write_bytes(b"".join(chained([], [opened])))
    monkeypatch.chdir(hosted.board.root)
    made = submitting.submit_model(hosted.board, ModelSpec(str(model)), ABOUT, Path("submissions"))
    content = json.loads(made.read_bytes())
    assert content["rules"] == {"intrasentence": "ll-bos", "intersentence": "conditional"}
    assert len(content["scores"]) == 3 * len(rows)


def test_a_chat_model_has_no_scores_for_hidden_labels(hosted: Hosted, model: Path) -> None:
    ran = run("board", "submit", f"chat:{model}", "--by", "x", "--board", hosted.board.root)
    assert "chat models have no scores of associations" in ran.err
    assert "a board with a sealed test set" in ran.err


def test_predictions_become_a_submission(hosted: Hosted, tmp_path: Path) -> None:
    table = tmp_path / "baker.csv"
    scores = hosted.scores()
    table.write_text("id,score\n" + "".join(f"{id},{value}\n" for id, value in scores.items()))
    words = ("board", "submit", "--board", hosted.board.root, "--by", "Ann Example")
    named = f"bakery/baker@ll-bos_conditional={table}"
    full = (*words, "--predictions", named, "--revision", "v1", "--dtype", "bfloat16")
    well(*full, "--how", "by hand")
    (path,) = hosted.board.submissions.iterdir()
    assert path.name == "bakery--baker-default-v1-0.1.0.json"
    content = json.loads(path.read_bytes())
    assert content["scores"] == scores
    assert [content[key] for key in ("model", "revision", "format", "how")] == [
        *("bakery/baker", "v1", "bfloat16", "by hand")
    ]
    for given, message in (
        (words, "no model is given"),
        (full[:-2], "nothing says which weights it has, or its number format"),
        ((*words, "--predictions", f"baker={table}"), "does not say by which rules"),
    ):
        assert message in run(*given).err
    table.write_text(table.read_text().rpartition("\n")[0].rpartition("\n")[0])
    assert "1 of 12 associations have no score" in run(*full).err


def test_a_board_that_has_no_open_test_set_takes_nothing(hosted: Hosted) -> None:
    hosted.board.append([Closed(date="2026-11-27", version="0.1.0", revealed="a" * 64)])
    with pytest.raises(CurationError, match="no test set is open"):
        check_files(open_board(hosted.board.root), ["a.json"])
    hosted.board.log.unlink()
    with pytest.raises(CurationError, match=r"log\.jsonl: is lost or empty"):
        check_files(open_board(hosted.board.root), ["a.json"])
