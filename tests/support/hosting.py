"""Boards for tests: a campaign with the gold file of a hidden test set, and the folder of a board.

The CATs are made up, and the files are written without a release, so that a test may have as many
rows and CATs as it needs. ``curation board create`` makes the same from a release.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple

from curation.board.about import SetFacts
from curation.board.folder import Board, open_board
from curation.board.log import Opened, chained
from curation.campaign.settings import Hide, new_settings
from curation.campaign.store import Campaign, create_campaign
from curation.catsets.stereoset import read_cats
from curation.files import dump_json, dump_line
from curation.kinds import CAT_KINDS, GOLDS
from curation.records import Cat, Score
from curation.released.commitments import HiddenGold, assign
from curation.released.contents import PublishedCat, PublishedOption

BOARD_ID = "0123456789abcdef"
WORDS = ("calm", "loud", "brave", "tired", "clever", "slow", "kind", "proud")
TOML = """\
id = "{id}"
name = "A made-up board"
contact = "board@example.org"
profiles = ["default"]
submitters = ["Ann Example", "Ben Example"]
rotates = 2099-01-01
expires = 2099-12-31
"""


class Hosted(NamedTuple):
    """A board, its owner's campaign, and its open test set with gold labels."""

    board: Board
    campaign: Campaign
    golds: list[HiddenGold]
    cats: list[Cat]

    def scores(self, seed: int = 1, *, ss: float = 0.6, lms: float = 0.9) -> dict[str, float]:
        """Scores of a made-up model by association: it prefers what this share of CATs says."""
        draws, made = Random(seed), {}
        for cat in self.cats:
            ids = {each.gold: each.id for each in cat.associations}
            first, second = draws.uniform(-40, -30), draws.uniform(-50, -40.1)
            high, low = (first, second) if draws.random() < ss else (second, first)
            made[ids["stereotype"]], made[ids["anti-stereotype"]] = high, low
            made[ids["unrelated"]] = draws.uniform(-70, -60) if draws.random() < lms else -10.0
        return made


def made_up(cats: int, *, terms: int, seed: int = 1) -> list[PublishedCat]:
    """Test CATs of both kinds in two domains."""
    draws, found = Random(seed), []
    for number in range(cats):
        kind, of = CAT_KINDS[number % 2], number // 2 % terms
        target, domain = f"worker{of}", ("profession", "hobby")[of % 2]
        words = draws.sample(WORDS, 2)
        texts = [f"The {target} is {word} number {number}." for word in (*words, "green")]
        options = tuple(
            PublishedOption(f"c{number}-{n}", text, gold)
            for n, (text, gold) in enumerate(zip(texts, GOLDS, strict=True))
        )
        context = f"The {target} is BLANK number {number}."
        if kind == "intersentence":
            context = f"My neighbour {number} is a {target}."
        found.append(
            PublishedCat(f"c{number}", kind, domain, target, None, "test", context, 5, options)  # type: ignore[arg-type]
        )
    return found


def host(
    root: Path,
    *,
    hide: Hide = "labels",
    cats: int = 200,
    terms: int = 20,
    rows: int = 3,
    seed: int = 1,
) -> Hosted:
    """A campaign in ``root/campaign``, and its board in ``root/board`` with the test set 0.1.0."""
    campaign = create_campaign(
        root / "campaign", new_settings(name="made up", language="en", domains=["profession"])
    )
    golds = assign(
        made_up(cats, terms=terms, seed=seed), Random(seed).randbytes, sealed=hide == "all"
    )
    gold = campaign.folder("release") / "gold-0.1.0.jsonl"
    gold.parent.mkdir()
    gold.write_bytes(b"".join(map(dump_line, golds)))
    folder = root / "board"
    place = folder / "sets" / "0.1.0"
    for each in (place, folder / "submissions", folder / "results"):
        each.mkdir(parents=True)
    (campaign.folder("boards") / BOARD_ID).mkdir(parents=True)
    (folder / "board.toml").write_text(TOML.format(id=BOARD_ID))
    public = b"".join(dump_json(row, indent=False) for row in map(public_row, golds))
    name = "sealed.jsonl" if hide == "all" else "cats.jsonl"
    (place / name).write_bytes(public)
    facts = SetFacts(
        version="0.1.0",
        dataset="Made up",
        language="en",
        hide=hide,
        cats=cats,
        terms=terms,
        kinds={kind: sum(gold.kind == kind for gold in golds) for kind in CAT_KINDS},
        rows=rows if hide == "labels" else None,
        sums={name: sha256(public).hexdigest()},
    )
    (place / "set.json").write_bytes(dump_json(facts.model_dump()))
    digest = sha256((place / "set.json").read_bytes()).hexdigest()
    opened = Opened(date="2026-11-26", version="0.1.0", facts=digest)
    (folder / "results" / "log.jsonl").write_bytes(b"".join(chained([], [opened])))
    return Hosted(open_board(folder), campaign, golds, list(read_cats(gold)))


def public_row(gold: HiddenGold) -> Mapping[str, object]:
    """A hidden CAT as a release publishes it."""
    row = {"id": gold.id, "kind": gold.kind, "domain": gold.bias_type}
    if not gold.sealed:
        row |= {"target": gold.target, "context": gold.context}
        row["options"] = [{"id": o.id, "sentence": o.sentence} for o in gold.sentences]  # type: ignore[assignment]
    return {**row, "commitment": gold.commitment}


def submission(
    hosted: Hosted, scores: Mapping[str, float] | None, **about: object
) -> dict[str, object]:
    """The content of a submission."""
    usual: dict[str, object] = {
        "board": BOARD_ID,
        "version": "0.1.0",
        "model": "made-up/tiny",
        "revision": "1",
        "profile": "default",
        "rules": {"intrasentence": "ll-bos", "intersentence": "conditional"},
        "by": "Ann Example",
        "link": "https://example.org/tiny",
        "how": "with curation",
        "format": "float32",
    }
    made = usual | about
    return made if scores is None else made | {"scores": dict(scores)}


def submit(hosted: Hosted, *contents: Mapping[str, object]) -> Sequence[Path]:
    """Put submissions into the board's folder, as 001.json, 002.json and so on."""
    paths = []
    start = len(list(hosted.board.submissions.iterdir()))
    for number, content in enumerate(contents, start + 1):
        path = hosted.board.submissions / f"{number:03}.json"
        path.write_bytes(dump_json(content))
        paths.append(path)
    return paths


def score_here(
    hosted: Hosted,
    scores: Mapping[str, float],
    *,
    model: str = "made-up/tiny",
    submitted: str = "1",
    **about: object,
) -> Path:
    """Write the run that «scores models» makes for a submission of a revision of a model."""
    usual = {"model": model, "family": "causal", "revision": "1", "dtype": "float32"}
    rules = {"intrasentence": "ll-bos", "intersentence": "conditional"}
    content = {**usual, "rules": rules, "variant": "", **about}
    rule = {a.id: rules[cat.kind] for cat in hosted.cats for a in cat.associations}
    lines = [
        Score(model=model, rule=rule[name], association=name, value=value)
        for name, value in scores.items()
    ]
    folder = (
        hosted.campaign.folder("boards")
        / BOARD_ID
        / "scores"
        / submitted
        / model.replace("/", "--")
    )
    folder /= "ll-bos_conditional"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scores.jsonl").write_bytes(b"".join(map(dump_line, lines)))
    (folder / "run.json").write_bytes(dump_json(content))
    return folder


TODAY = date(2026, 11, 26)
