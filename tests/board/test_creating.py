"""Boards are made from releases with a hidden test set."""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from curation.board import creating
from curation.board.about import Baseline, says
from curation.board.folder import Board, open_board
from curation.board.log import read_day
from curation.files import CurationError, dump_json
from curation.kinds import Kind
from curation.released import numbers
from curation.released.commitments import HiddenGold, assign
from curation.released.facts import Baseline as Released
from support.expected import has
from support.hosting import host, made_up
from support.labelled import Desk
from support.releases import score
from support.strike import strike, times
from support.written import files, lines


def made(desk: Desk, root: Path, *words: str) -> Board:
    desk.done("board", "create", root, "--release", "0.1.0", *words)
    return open_board(root)


def test_a_board_of_a_sealed_test_set(sealed: Desk, tmp_path: Path) -> None:
    desk = sealed.copy(tmp_path / "c")
    said = desk.done("board", "create", tmp_path / "b", "--release", "0.1.0").out
    board = open_board(tmp_path / "b")
    facts, settings = board.open_set.facts, board.settings
    assert sorted(files(board.root)) == [
        ".github/workflows/check.yml",
        ".gitignore",
        "README.md",
        "board.toml",
        "results/log.jsonl",
        "sets/0.1.0/sealed.jsonl",
        "sets/0.1.0/set.json",
        "submissions/.gitkeep",
    ]
    assert (facts.hide, facts.cats, facts.terms, facts.rows) == ("all", 4, 4, None)
    assert facts.kinds == {"intrasentence": 4}
    assert board.open_set.cats.read_bytes() == (desk.first / "sealed.jsonl").read_bytes()
    assert (settings.contact, settings.profiles) == ("ask@example.invalid", ("default",))
    assert (settings.submitters, settings.rows) == ((), None)
    assert 181 < (settings.rotates - read_day()).days < 185
    assert 728 < (settings.expires - read_day()).days < 733
    (opened,) = board.entries()
    whole = (board.open_set.folder / "set.json").read_bytes()
    assert opened == creating._opened(facts)
    assert opened.facts == sha256(whole).hexdigest()
    noted = desk.root / "boards" / settings.id / "head.txt"
    assert noted.read_text() == sha256(board.log.read_bytes()).hexdigest()
    assert {base.split for base in facts.baselines} == {"test"}
    ideal = facts.baselines[0]
    assert (ideal.model, ideal.lms, ideal.ss, ideal.icat) == ("IdealLM", 100, 50, 100)
    check = (board.root / ".github/workflows/check.yml").read_text("utf-8")
    assert '  CURATION: ""\n' in check
    assert "curation==" not in check
    has(said, "sealed: 4 CATs on 4 terms", says("choice"), str(settings.rotates))
    readme = (board.root / "README.md").read_text("utf-8")
    has(readme, "the owner runs it", "Content warning", "also by kind of CAT", settings.contact)
    assert "self-reported" not in readme


@pytest.mark.usefixtures("many")
def test_a_board_of_hidden_labels(hidden: Desk, tmp_path: Path) -> None:
    desk = hidden.copy(tmp_path / "c")
    words = ("--name", 'The "best" <board>', "--contact", "a@b.org", "--profile", "acl-pll")
    words += ("--profile", "default", "--rows", "2", "--rotates", "2098-01-02")
    wheel = f"https://h.example:8/a/v1/curation-0.1.0-py3-none-any.whl#sha256={'0a' * 32}"
    about = json.loads(
        desk.done(
            *("board", "create", tmp_path / "b", "--release", "0.1.0", *words),
            *("--expires", "2099-01-02", "--json", "--wheel", wheel),
        ).out
    )
    check = yaml.safe_load((tmp_path / "b/.github/workflows/check.yml").read_bytes())
    assert check["jobs"]["check"]["steps"][1]["env"] == {"CURATION": f"curation @ {wheel}"}
    board = open_board(tmp_path / "b")
    assert about["settings"] == board.settings.model_dump(mode="json")
    assert about["set"] == json.loads((board.open_set.folder / "set.json").read_bytes())
    settings, facts = board.settings, board.open_set.facts
    assert (settings.name, settings.rows) == ('The "best" <board>', 2)
    assert settings.profiles == ("acl-pll", "default")
    assert (str(settings.rotates), str(settings.expires)) == ("2098-01-02", "2099-01-02")
    # 4 CATs of 4 terms as 4,000: floor(2 pi 0.01^2 4000 + 0.5) = floor(3.01).
    assert (facts.hide, facts.cats, facts.rows) == ("labels", 4, 3)
    rows = lines(board.open_set.cats)
    assert rows == lines(desk.first / "cats/intrasentence-test.jsonl")
    about = {"id", "kind", "domain", "target", "target_original", "split", "context"}
    assert {*rows[0]} == about | {"options", "commitment"}
    # With fewer than 100 hidden CATs a release shows no value about them.
    assert {base.split for base in facts.baselines} == {"dev"}
    readme = (board.root / "README.md").read_text("utf-8")
    has(readme, "# The &#34;best&#34; &lt;board&gt;", "self-reported", "rounded to one decimal")
    golds = {line["id"]: line["nonce"] for line in lines(desk.gold)}
    public = b"".join(path.read_bytes() for path in board.root.rglob("*") if path.is_file())
    assert not [nonce for nonce in golds.values() if nonce.encode() in public]
    assert b'gold_label"' not in public


def test_a_build_says_how_many_rows_a_board_will_have(
    hidden: Desk, labelled: Desk, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    desk = labelled.copy(tmp_path / "c")
    said = desk.build("--hide", "labels").out
    has(said, "a board can show 0 rows", "curation release build --hide all")
    about = json.loads(desk.build("--json").out)
    assert about["board_rows"] == 0
    refused = desk.refused("board", "create", tmp_path / "b", "--release", "0.1.0")
    has(refused, "--hide all")
    # What to do instead, as it is said.
    shutil.rmtree(desk.first)
    desk.gold.unlink()
    said = desk.build("--hide", "all").out
    assert "a board can show" not in said
    assert made(desk, tmp_path / "b").open_set.facts.rows is None
    request.getfixturevalue("many")  # 4 CATs of 4 terms as 4,000, as above
    desk = hidden.copy(tmp_path / "d")
    said = desk.build().out
    has(said, "a board can show 3 rows")
    assert "--hide all" not in said


@pytest.mark.usefixtures("many")
def test_values_that_were_given_out_leave_fewer_rows(hidden: Desk, tmp_path: Path) -> None:
    desk = hidden.copy(tmp_path / "c")
    value = {"version": "0.1.0", "cats": "0" * 64, "name": "in a paper", "value": "60"}
    ledger = desk.releases / "given-out.jsonl"
    ledger.write_bytes(dump_json(value, indent=False))
    assert made(desk, tmp_path / "b").open_set.facts.rows == 2
    more = (dump_json(value | {"value": str(n)}, indent=False) for n in range(3))
    ledger.write_bytes(b"".join(more))
    said = desk.refused("board", "create", tmp_path / "b2", "--release", "0.1.0")
    has(said, "4 hidden CATs and 2 dev CATs", "given out: 3", "--hide all")
    assert not (tmp_path / "b2").exists()


def test_what_cannot_be_opened(hidden: Desk, sealed: Desk, tmp_path: Path) -> None:
    desk = hidden.copy(tmp_path / "c")
    root = tmp_path / "b"

    def refuses(*parts: str, version: str = "0.1.0", words: tuple[str, ...] = ()) -> None:
        has(desk.refused("board", "create", root, "--release", version, *words), *parts)
        assert not list(tmp_path.glob(".b*"))
        assert not list((desk.root / "boards").glob("*"))

    refuses("differ from those of version 0.2.0 in only 8")
    shutil.move(desk.second, tmp_path / "second")
    shutil.move(desk.releases / "gold-0.2.0.jsonl", tmp_path / "gold")
    refuses("4 hidden CATs and 2 dev CATs", "collect more CATs", "--hide all")
    refuses("version 9 is not built", "built versions: 0.1.0", version="9")
    for name, part in (("../c", "not built"), ("0.1.0-anonymous", "not built")):
        refuses(part, version=name)
    shutil.copytree(desk.first, desk.releases / "0.3.0-anonymous")
    refuses("built for anonymous review only", version="0.3.0")
    (desk.releases / "0.3.0-anonymous").rename(desk.releases / "0.3.0")
    facts = desk.facts() | {"hidden": None}
    (desk.releases / "0.3.0/release.json").write_bytes(dump_json(facts))
    refuses("version 0.3.0 has no hidden test set", version="0.3.0")
    shutil.rmtree(desk.releases / "0.3.0")
    desk.gold.rename(tmp_path / "gold-0.1.0")
    refuses("gold-0.1.0.jsonl: no such file", "restore the file from a backup")
    (tmp_path / "gold-0.1.0").rename(desk.gold)
    card = (desk.first / "README.md").read_bytes()
    (desk.first / "README.md").write_bytes(card + b".")
    refuses("changed after it was built: README.md")
    (desk.first / "README.md").write_bytes(card)
    golds = desk.gold.read_bytes()
    desk.gold.write_bytes(golds[: len(golds) // 4 * 3])
    refuses("gold-0.1.0.jsonl")
    desk.gold.write_bytes(golds)
    for words, part in (
        (("--profile", "defualt"), "profiles.0: no profile 'defualt'; there are "),
        (("--name", "a\nb"), "name: "),
        (("--wheel", "curation==0.1.0"), "is not the address of a wheel of curation with its"),
        (("--wheel", f"https://a.example/curation-1.whl#sha256={'0' * 63}"), "write --wheel https"),
        (("--wheel", f"https://${{{{x}}}}/curation-1.whl#sha256={'0' * 64}"), "is not the address"),
        (("--rotates", "2001-01-01"), "would be closed on 2001-01-01"),
        (("--rotates", "2090-01-01"), "would be closed on 2090-01-01"),
    ):
        desk = sealed
        refuses(part, words=words)
    refuses("allows fewer rows, or is sealed", words=("--rows", "1"))
    desk = hidden.copy(tmp_path / "c2")
    root = desk.root / "b"
    refuses("is in the campaign")
    root = tmp_path / "b"
    root.symlink_to(tmp_path / "nowhere")
    has(desk.refused("board", "create", root, "--release", "0.1.0"), "exists already")
    with desk.campaign.lock():
        (tmp_path / "b").unlink()
        refuses("in use by")
    desk.reveal()
    refuses("gold labels of version 0.1.0 are revealed")


@pytest.mark.usefixtures("many")
def test_public_gold_labels_are_not_opened(hidden: Desk, tmp_path: Path) -> None:
    desk = hidden.copy(tmp_path / "c")
    desk.reveal()
    (revealed,) = desk.releases.glob("*-revealed")
    revealed.rename(desk.releases / "0.3.0-revealed")  # as if another version had the same CATs
    shutil.copyfile(desk.gold, desk.releases / "gold-0.3.0.jsonl")
    said = desk.refused("board", "create", tmp_path / "b", "--release", "0.1.0")
    has(said, "4 of the hidden CATs of version 0.1.0 are in another version")


def test_sealed_texts_that_are_public_are_not_opened(
    sealed: Desk, hidden: Desk, tmp_path: Path
) -> None:
    desk = sealed.copy(tmp_path / "c")
    shutil.copytree(hidden.first, desk.releases / "0.0.9")
    said = desk.refused("board", "create", tmp_path / "b", "--release", "0.1.0")
    has(said, "4 of the hidden CATs of version 0.1.0 are in another version")
    desk.done("board", "create", tmp_path / "b", "--release", "0.2.0")


def test_a_profile_in_board_toml_is_one_of_curation(tmp_path: Path) -> None:
    """Otherwise, its submissions could be scored by any rules, and be in one ranking."""
    path = host(tmp_path).board.root / "board.toml"
    path.write_text(path.read_text("utf-8").replace('["default"]', '["default", "mine"]'), "utf-8")
    line = r"board\.toml line \d+, profiles\.1: no profile 'mine'; there are acl-ll, "
    with pytest.raises(CurationError, match=line):
        open_board(path.parent)


def test_a_board_is_whole_or_not_there(sealed: Desk, tmp_path: Path) -> None:
    desk = sealed.copy(tmp_path / "c")
    words = ("board", "create", "--release", "0.1.0", "-c", desk.root)
    seen = times(desk.forked, (*words, tmp_path / "first" / "b"), tmp_path / "first", seen=True)
    assert seen > 7
    for at in range(1, seen + 1, 5):
        root = tmp_path / str(at) / "b"
        died = desk.forked(*words, root, before=strike(root.parent, at=at, seen=True))
        assert died.code < 0
        assert not root.exists()
        desk.forked(*words, root)
        assert len(files(root)) == 8
        assert [path.name for path in root.parent.iterdir()] == ["b"]


def test_the_choice_is_five_sentences_and_in_the_docs() -> None:
    docs = " ".join((Path(__file__).parents[2] / "docs/board.md").read_text("utf-8").split())
    sentences = says("choice").replace("«", "`").replace("»", "`").split(". ")
    assert len(sentences) == 5
    assert all(sentence in docs for sentence in sentences)


# --- pure functions -------------------------------------------------------------------------------


@cache
def golds(*sizes: int) -> list[HiddenGold]:
    """Hidden CATs on terms of these sizes."""
    cats = made_up(sum(sizes), terms=1)
    names = [f"t{n}" for n, size in enumerate(sizes) for _ in range(size)]
    draw = iter(range(10**9))
    named = [cat._replace(target=name) for cat, name in zip(cats, names, strict=True)]
    return assign(named, lambda n: next(draw).to_bytes(n, "big"), sealed=False)


def given(*values: str) -> list[numbers.GivenOut]:
    return [
        numbers.GivenOut(version="1", cats="0" * 64, name="model a", value=value)
        for value in values
    ]


@pytest.mark.parametrize(
    ("sizes", "dev", "values", "rows"),
    [
        ([4] * 44, 176, "", 0),  # 176 CATs: the release's own budget is floor(0.995) = 0
        ([4] * 45, 180, "", 1),  # one row: 2 pi 0.0001 180 + 0.5 = 0.613, but at least one
        ([10] * 238, 2380, "", 1),  # floor(1.495 + 0.5)
        ([10] * 239, 2390, "", 2),  # floor(1.502 + 0.5)
        ([10] * 239, 2390, "aa", 1),  # the same value twice counts once
        ([10] * 239, 2390, "ab", 0),
        ([10] * 239, 2390, "abc", 0),
        # 120 terms of 19 CATs and 119 of one: 239^2 / (120 / 19 + 119) = 456 equal CATs.
        ([19] * 120 + [1] * 119, 2390, "", 1),
        ([10] * 239, 477, "", 1),  # few dev CATs: as 5 * 477 = 2,385 CATs, floor(1.499 + 0.5)
    ],
)
def test_how_many_rows(sizes: list[int], dev: int, values: str, rows: int) -> None:
    assert numbers.board_rows_left("1", {"1": golds(*sizes)}, given(*values), dev=dev) == rows


def test_a_related_sealed_version_leaves_no_rows() -> None:
    own = golds(*[10] * 239)
    other = [gold.model_copy(update={"sealed": True}) for gold in own[:1]]
    assert numbers.board_rows_left("1", {"1": own, "2": other}, [], dev=2390) == 0


def row(split: str, kind: Kind | str, cats: int, ss: float | None) -> Iterator[object]:
    return score(split=split, kind=kind, cats=cats, ss=ss, lms=60.0, icat=ss)


def test_the_row_of_a_baseline_that_is_public_is_pinned() -> None:
    dev = [row("dev", "both", 9, 41.0), row("dev", "intrasentence", 5, 40.0)]
    test = [row("test", "intrasentence", 3, 44.0), row("test", "both", 7, 42.0)]
    secret = [row("test", "both", 7, None)]

    def pinned(*rows: object) -> Baseline:
        return creating._pinned(Released(model="longest", says="x", rows=rows))

    shown = pinned(*dev, *test)
    assert (shown.model, shown.says, shown.split, shown.ss) == ("m", "x", "test", 42.0)
    shown = pinned(*secret, *dev)
    assert (shown.split, shown.ss, shown.lms) == ("dev", 41.0, 60.0)
    shown = pinned(*secret)
    assert (shown.split, shown.ss, shown.lms) == ("test", None, 60.0)
