"""Make a board from a release with a hidden test set; close its test set and open the next one."""

import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from curation.board.about import (
    SETTINGS,
    TEMPLATES,
    Baseline,
    BoardSettings,
    SetFacts,
    checked,
    refused,
)
from curation.board.building import ranking_metric
from curation.board.folder import CATS, FACTS, Board, keep_head, open_board, owner_folder
from curation.board.log import Closed, Opened, Scored, chained, read_day
from curation.campaign.manifest import file_names, write_folder
from curation.campaign.store import Campaign
from curation.campaign.versions import ANONYMOUS, REVEALED, BuiltVersion, History
from curation.files import digest, dump_json, read_bytes, read_text, refuse_links, sweep, writing
from curation.formats.toml_files import toml_value, with_setting, write_form
from curation.kinds import KINDS
from curation.release.hiding import board_rows, nearly_the_same
from curation.release.revealing import check_sums, proved_golds, reveal
from curation.released import facts as release
from curation.released import numbers
from curation.released.contents import SEALED, SUMS, flat_path
from curation.stats.metrics import list_metrics, shared_metrics

CHECK, README = ".github/workflows/check.yml", "README.md"
_WHEEL = re.compile(
    r"https://[\w.:-]+/([\w.~%+@!=:-]+/)*curation-[\w.+-]+\.whl#sha256=[0-9a-f]{64}", re.ASCII
)


def create(campaign: Campaign, root: Path, version: str, *, wheel: str = "", **given: Any) -> Board:
    """Make the folder of a board, whole or not at all, and its owner's folder in the campaign.

    Args:
        campaign: the campaign; its lock is held.
        root: the folder to make.
        version: the release whose hidden test set is opened.
        wheel: address and sha256 of the wheel that the check of submissions installs.
        given: settings of ``board.toml``, as in ``BoardSettings``. By default the name is that of
            the dataset, the contact that of the release, the only profile ``default``; the test set
            is to be closed in half a year, and the board ends in two years.

    Raises:
        CurationError: the folder exists or is in the campaign; a setting is wrong; or the version
            cannot be opened, see ``new_set``.
    """
    root = root.absolute()
    if os.path.lexists(root):
        raise refused("exists", root=root)
    if root.resolve().is_relative_to(campaign.root.resolve()):
        raise refused("inside", root=root)
    facts, content = new_set(campaign, version)
    settings = _settings(campaign, facts, given)
    start = {f"sets/{version}/{name}": data for name, data in content.items()}
    start |= dict(_start_files(settings, facts, wheel=wheel))
    start |= {"results/log.jsonl": chained([], [_opened(facts)])[0], "submissions/.gitkeep": b""}
    owner = campaign.folder("boards") / settings.id
    owner.mkdir(parents=True, mode=0o700)
    sweep(root.parent, below=False)
    write_folder(root, start)
    keep_head(made := open_board(root), owner)
    return made


def _settings(campaign: Campaign, facts: SetFacts, given: Mapping[str, Any]) -> BoardSettings:
    about = BuiltVersion(campaign.folder("release") / facts.version).facts
    usual = {"name": facts.dataset, "contact": about and about.statement.contact}
    ends = {"rotates": read_day() + timedelta(183), "expires": read_day() + timedelta(731)}
    own = {"id": secrets.token_hex(8), "profiles": ["default"], **usual, **ends, **given}
    settings = checked(own)
    if settings.rows is not None and not 0 < settings.rows <= (facts.rows or 0):
        raise refused("rows", facts=facts)
    _check_days(settings)
    return settings


def _check_days(settings: BoardSettings) -> None:
    if not read_day() < settings.rotates <= settings.expires:
        raise refused("days", rotates=settings.rotates, expires=settings.expires)


def _start_files(
    settings: BoardSettings, facts: SetFacts, *, wheel: str = ""
) -> Iterator[tuple[str, bytes]]:
    """Settings, README, the check for a forge, what git leaves out: path and content of each.

    Args:
        settings: of the board.
        facts: of its test set.
        wheel: address and sha256 of the wheel of curation that the check installs; without it, the
            check fails and says so.

    Raises:
        CurationError: ``wheel`` is not one.
    """
    if wheel and not _WHEEL.fullmatch(wheel):
        raise refused("wheel", wheel=wheel)
    yield SETTINGS, _rendered(SETTINGS, settings, facts)
    yield README, _rendered(README, settings, facts)
    source = f'CURATION: "curation @ {wheel}"' if wheel else 'CURATION: ""'
    yield CHECK, read_bytes(TEMPLATES / "check.yml").replace(b'CURATION: ""', source.encode())
    yield ".gitignore", b"/scores/\n.*.tmp\n"  # scores of submitters, files of killed commands


def _rendered(name: str, settings: BoardSettings, facts: SetFacts) -> bytes:
    """A file from its template. The README depends on whether the test set is sealed."""
    from curation.pages.report import environment

    template = environment(TEMPLATES).get_template(f"{name}.jinja")
    values = {"metrics": list_metrics(shared_metrics(facts.kinds)), "toml": toml_value}
    return f"{template.render(settings=settings, facts=facts, **values)}\n".encode()


# --- test sets ----------------------------------------------------------------------------------


def new_set(
    campaign: Campaign, version: str, *, after: str = ""
) -> tuple[SetFacts, dict[str, bytes]]:
    """A test set for a board, from the built folder of a version.

    Args:
        campaign: the campaign.
        version: the version.
        after: a version that is revealed before the test set is opened.

    Returns:
        Its facts, and the files of its folder by name.

    Raises:
        CurationError: the version is not built, has no hidden test set, is revealed, damaged, or
            shares CATs with public ones; its gold labels are lost; or it can have no rows.
    """
    history, place = History(campaign), BuiltVersion(campaign.folder("release") / version)
    built = [each.folder.name for each in history.built]
    if version not in built and f"{version}{ANONYMOUS}" in built:
        raise refused("anonymous", version=version)
    if version not in built or version.endswith(ANONYMOUS):
        raise refused("not_built", version=version, built=", ".join(built))
    if not (facts := place.facts) or not facts.hidden:
        raise refused("not_hidden", version=version)
    if history.revealed(version):
        raise refused("revealed", version=version)
    golds = proved_golds(campaign, version)
    public = history.public | numbers.same_names(
        history.golds(after) if after in history.files else ()
    )
    if sealed := place.is_sealed:  # with texts, its scores would give away gold labels
        public |= {cat.texts for each in history.built for cat in each.cats}
    if known := sum(bool(numbers.same_names([gold]) & public) for gold in golds):
        raise refused("known", version=version, count=known)
    kinds = Counter(gold.kind for gold in golds)
    if not ranking_metric(kinds):
        raise refused("no_ranking", version=version, kinds=" and ".join(kinds))
    name = SEALED if sealed else CATS
    paths = [SEALED] if sealed else [flat_path(kind, "test") for kind in KINDS if kinds[kind]]
    data = b"".join(read_bytes(place.folder / path) for path in paths)
    about = SetFacts(
        version=version,
        dataset=facts.name,
        language=facts.language,
        hide="all" if sealed else "labels",
        cats=len(golds),
        terms=len({(gold.bias_type, gold.target) for gold in golds}),
        kinds={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        rows=None if sealed else _rows(history, facts, after),
        baselines=tuple(_pinned(base) for base in facts.baselines if base.rows),
        sums={name: sha256(data).hexdigest()},
    )
    return about, {name: data, FACTS: dump_json(about.model_dump())}


def _rows(history: History, facts: release.Facts, after: str) -> int:
    """How many rows a test set with hidden labels gets, once ``after`` is revealed."""
    version, golds = facts.version, history.hidden
    for other, count in nearly_the_same(history, version, golds[version]):
        if other != after:
            raise refused("near", version=version, other=other, count=count)
    if not (rows := board_rows(history, facts)):
        cats, dev, given = len(golds[version]), numbers.dev_cats(facts), history.given(golds)
        raise refused("too_few", version=version, cats=cats, dev=dev, given=len(given))
    return rows


def _pinned(base: release.Baseline) -> Baseline:
    """A baseline on all test CATs if its ss there is public, else on all dev CATs."""
    whole = {row.split: row for row in sorted(base.rows, key=lambda row: row.cats)}
    public = [row for row in whole.values() if row.split == "dev" or row.ss is not None]
    row = max(public or whole.values(), key=lambda row: row.split)  # test, then dev
    return Baseline(says=base.says, **row.model_dump(include=set(Baseline.model_fields)))


def _opened(facts: SetFacts) -> Opened:
    content = sha256(dump_json(facts.model_dump())).hexdigest()
    return Opened(date=str(read_day()), version=facts.version, facts=content)


# --- rotate -------------------------------------------------------------------------------------


def rotate(
    board: Board,
    campaign: Campaign,
    *,
    release: str = "",
    rotates: date | None = None,
    agree: Callable[[str], None] = lambda version: None,
) -> str:
    """Close and reveal the open test set of a board, then open the next one.

    All that could stop it is checked first. If it is killed, run it again with the same arguments:
    a test set that is closed stays closed, and nothing is closed if ``release`` is open already.

    Args:
        board: the board. Open it again afterwards.
        campaign: its owner's campaign; its lock is held.
        release: the version whose test set is opened; empty for none.
        rotates: when that one is to be closed; None leaves ``board.toml`` as it is.
        agree: called with the version before its gold labels are revealed; may raise.

    Returns:
        The version that was closed; empty if none was.

    Raises:
        CurationError: the board is an older copy, a file of the open test set was changed, the
            scores of a row are lost, or the next version cannot be opened.
    """
    owner, closes = owner_folder(board, campaign), board.open_version
    keep_head(board, owner)
    sweep(board.root)
    if rotates:
        _check_days(board.settings.model_copy(update={"rotates": rotates}))
    if release != closes and release in board.opened():
        raise refused("revealed", version=release)
    new = new_set(campaign, release, after=closes) if release not in ("", closes) else None
    closes = "" if release == closes else closes
    scores = _scores(board, owner) if closes else {}
    if closes:
        agree(closes)
        _close(board, campaign, scores)
    if rotates:
        path = board.root / SETTINGS
        write_form(path, with_setting(read_text(path), "", "rotates", rotates))
    if new:
        _open(board, *new)
    keep_head(board, owner)
    return closes


def _scores(board: Board, owner: Path) -> dict[str, bytes]:
    """The scores of each row of the open test set if it is sealed, by file name.

    The files of the set are checked, too: its gold labels will be proved against them.
    """
    place, version = board.open_set, board.open_version
    for name, sha in place.facts.sums.items():
        if digest(place.folder / name) != sha:
            raise refused("changed", path=place.folder / name)
    own = (e for e in board.entries() if isinstance(e, Scored) and e.version == version)
    rows = [owner / "rows" / f"{row.scores}.jsonl" for row in own if place.facts.hide == "all"]
    if lost := [path for path in rows if digest(path) != path.stem]:
        raise refused("row_lost", path=lost[0])
    return {path.name: read_bytes(path) for path in rows}


def _close(board: Board, campaign: Campaign, scores: Mapping[str, bytes]) -> None:
    """Reveal the open test set in the campaign, copy it to the board, and say so in the log."""
    version = board.open_version
    source = campaign.folder("release") / f"{version}{REVEALED}"
    if source.is_dir():  # it may be published: it stays as it is
        check_sums(source)
    else:
        reveal(campaign, version)
    revealed = {name: read_bytes(source / name) for name in file_names(source)}
    _put(board, f"{version}/revealed", revealed)
    _put(board, f"{version}/scores", scores)
    proof = sha256(revealed[SUMS]).hexdigest()
    board.append([Closed(date=str(read_day()), version=version, revealed=proof)])


def _open(board: Board, facts: SetFacts, content: Mapping[str, bytes]) -> None:
    """Write the folder of a test set, adapt the README to its kind, and say so in the log."""
    path, last = board.root / README, board.test_set([*board.opened()][-1]).facts
    old, new = (_rendered(README, board.settings, each) for each in (last, facts))
    _put(board, facts.version, content)
    if digest(path) == sha256(old).hexdigest():  # the owner has not changed it
        with writing(path) as file:
            file.write(new)
    board.append([_opened(facts)])


def _put(board: Board, name: str, content: Mapping[str, bytes]) -> None:
    """Write a folder in ``sets/``, in place of what a rotation that was killed left there."""
    folder = board.root / "sets" / name
    refuse_links(folder, below=board.root)
    shutil.rmtree(folder, ignore_errors=True)
    if content:
        write_folder(folder, content)
