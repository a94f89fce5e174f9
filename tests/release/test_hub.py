"""Uploads: the real client talks to a hub on this machine, and every byte is compared."""

import sys
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.release import hub as hub_module
from curation.release.hub import Local, Planned, Remote, check_name, look, open_hub, plan, push
from support.endless import NEVER, playing, within
from support.expected import fails
from support.hub import TOKEN, Hub, Repo

REPO = "made-up/bakers"
Files = list[Local]
CONTENT = {
    "README.md": b"---\nlicense: cc-by-4.0\n---\n# Bakers\n",
    "cats/intrasentence-dev.jsonl": b'{"id":"c1"}\n',
    "intrasentence/test-00000-of-00001.parquet": b"PAR1" + bytes(range(256)) + b"PAR1",
    "SHA256SUMS": b"",
}

# huggingface_hub uploads with an argument that its HTTP library replaces.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture(autouse=True)
def no_token(fake_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)


@pytest.fixture
def files(tmp_path: Path) -> list[Local]:
    return write(tmp_path, CONTENT)


def write(folder: Path, content: dict[str, bytes]) -> list[Local]:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return [Local(name, folder / name, len(data)) for name, data in sorted(content.items())]


def client(fake_hub: Hub, token: str = TOKEN) -> Any:
    return open_hub(endpoint=fake_hub.address, token=token)


def upload(hub: Hub, files: Files, version: str = "1.0.0", **how: Any) -> Any:
    return push(client(hub), REPO, files, version=version, **how)


def states(planned: list[Planned]) -> dict[str, str]:
    return {row.path: row.state for row in planned}


def test_a_release_goes_up_in_one_commit_byte_by_byte_and_only_once(
    fake_hub: Hub, files: Files
) -> None:
    sent: list[int] = []
    done = upload(fake_hub, files, done=sent.append)
    repo = fake_hub.repos[REPO]
    assert repo.own_files == CONTENT
    assert repo.messages == ["Version 1.0.0"]
    assert repo.tags == {"1.0.0": repo.head}
    assert repo.private
    assert done == (f"{fake_hub.address}/datasets/{REPO}", repo.head, 4, True, True)
    assert sorted(sent) == sorted(map(len, CONTENT.values()))
    fake_hub.calls.clear()
    assert upload(fake_hub, files) == done._replace(sent=0)
    assert {method for method, _ in fake_hub.calls} == {"GET"}


def test_a_published_version_never_changes_and_the_next_leaves_other_files_alone(
    fake_hub: Hub, files: Files, tmp_path: Path
) -> None:
    upload(fake_hub, files)
    repo = fake_hub.repos[REPO]
    changed = write(tmp_path / "other", {**CONTENT, "README.md": b"# Others\n"})
    with fails("1.0.0 of made-up/bakers is on the hub already, with other content: README.md"):
        upload(fake_hub, changed)
    assert repo.files["README.md"] == CONTENT["README.md"]
    repo.commits.append({**repo.files, "plots/terms.png": b"PNG"})
    content = {**CONTENT, "README.md": b"# 1.1\n", "errata.jsonl": b"{}\n"}
    del content["cats/intrasentence-dev.jsonl"]
    new = write(tmp_path / "new", content)
    assert states(plan(new, look(client(fake_hub), REPO))) == {
        ".gitattributes": "kept", "README.md": "changed", "SHA256SUMS": "same",
        "cats/intrasentence-dev.jsonl": "deleted", "errata.jsonl": "new",
        "intrasentence/test-00000-of-00001.parquet": "same", "plots/terms.png": "kept",
    }  # fmt: skip
    assert upload(fake_hub, new, "1.1.0").sent == 2
    assert repo.files == {**content, "plots/terms.png": b"PNG", ".gitattributes": b"*.parquet"}
    assert list(repo.tags) == ["1.0.0", "1.1.0"]
    assert upload(fake_hub, files).sent == 0  # the tag has it


def test_a_dataset_is_open_only_if_you_say_so_and_after_everything_is_there(
    fake_hub: Hub, files: Files
) -> None:
    upload(fake_hub, files, private=False, gated="manual")
    repo = fake_hub.repos[REPO]
    assert (repo.private, repo.gated) == (False, "manual")
    paths = [path for _, path in fake_hub.calls]
    tagged = next(path for path in paths if "/tag/" in path)
    assert paths.index(f"/api/datasets/{REPO}/settings") > paths.index(tagged)
    assert not upload(fake_hub, files).private  # stays as it is
    upload(fake_hub, files, private=True)
    assert repo.private
    # One that must be private is so first.
    fake_hub.repos[REPO] = Repo(private=False)
    fake_hub.calls.clear()
    upload(fake_hub, files, private=True)
    paths = [path for _, path in fake_hub.calls]
    changed, sent = (f"/api/datasets/{REPO}/{part}" for part in ("settings", "commit/main"))
    assert paths.index(changed) < paths.index(sent)


def test_an_interrupted_upload_goes_on(fake_hub: Hub, files: Files) -> None:
    fake_hub.fail[("POST", "/tag/")] = ["cut"]
    with fails("no answer from http://127"):
        upload(fake_hub, files)
    assert len(fake_hub.repos[REPO].commits) == 2
    done = upload(fake_hub, files)
    assert (done.sent, len(fake_hub.repos[REPO].commits)) == (0, 2)
    assert fake_hub.repos[REPO].tags == {"1.0.0": done.commit}


def test_files_that_the_hub_does_not_keep_are_noticed(fake_hub: Hub, files: Files) -> None:
    fake_hub.ignored = {"README.md"}
    with fails("did not keep 1 files of made-up/bakers, such as README"):
        upload(fake_hub, files)
    assert not fake_hub.repos[REPO].tags


@pytest.mark.parametrize(
    ("call", "answers", "message"),
    [
        (("GET", "/whoami"), [401], "does not accept the token"),
        (("POST", "/repos/create"), [403], "may not write to made-up/bakers"),
        (("POST", "/repos/create"), [409], "its name is taken"),
        (("POST", "/commit/"), [403], "may not write"),
        (("POST", "/commit/"), [412], "changed by somebody else"),
        (("POST", "/commit/"), [500], "fails with status 500"),
        (("POST", "/preupload/"), [429] * 9, "too many requests"),
        (("PUT", "/large/"), [500] * 9, "fails with status 500"),
        (("POST", "/commit/"), ["cut"], "no answer from"),
        (("GET", "/tree/"), ["cut"] * 9, "no answer from"),
        (("POST", "/objects/batch"), [403], "may not write"),
        (("GET", "/whoami"), ["[" * 100_000], "the answer is not that of a hub"),
        (("GET", "/refs"), ["<html>"], "the answer is not that of a hub"),
    ],
)
def test_failures_say_what_to_do(
    fake_hub: Hub, files: Files, call: tuple[str, str], answers: list[Any], message: str
) -> None:
    fake_hub.fail[call] = answers
    with pytest.raises(CurationError, match=message) as caught:
        upload(fake_hub, files)
    assert caught.value.fix
    assert TOKEN not in caught.value.what + caught.value.fix
    fake_hub.fail.clear()
    upload(fake_hub, files)
    repo = fake_hub.repos[REPO]
    assert repo.own_files == CONTENT
    assert repo.tags == {"1.0.0": repo.head}


@pytest.mark.parametrize("mode", NEVER)
def test_a_reply_that_does_not_end_has_a_limit(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "PATIENCE", 1.0)

    def ask() -> str:
        with pytest.raises(CurationError) as caught:
            look(open_hub(endpoint=address, token=TOKEN), REPO)
        return caught.value.what

    with playing(mode) as address:
        (said,) = within(8, ask)
    assert address in said


def test_without_a_token_a_hub_or_the_package(
    fake_hub: Hub, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fails("does not accept the token", fix="HF_TOKEN"):
        push(client(fake_hub, "hf_wrong"), REPO, files, version="1.0.0")
    monkeypatch.setattr("huggingface_hub.hf_api.get_token", lambda: None)
    with fails("there is no token"):
        look(open_hub(endpoint=fake_hub.address), REPO)
    assert not fake_hub.repos
    with fails("no answer from http://127"):
        look(open_hub(endpoint="http://127.0.0.1:9", token=TOKEN), REPO)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with fails("needs huggingface_hub", fix="pip install 'curation[hub]'"):
        open_hub()


@pytest.mark.parametrize(
    "name", ["bakers", "a/b/c", "a/", "/b", "a b/c", "a/b--c", "a/-b", "a/b.git", "é/b"]
)
def test_a_name_that_the_hub_would_refuse(name: str) -> None:
    with fails("is not the name of a dataset"):
        check_name(name)
    check_name("made-up/bakers_2.0")


def test_a_plan_without_the_hub(files: Files) -> None:
    assert set(states(plan(files, None)).values()) == {"unknown"}
    assert set(states(plan(files, Remote("", True, {}, {}))).values()) == {"new"}
