"""A campaign of twenty CATs with models whose figures are known by hand."""

import csv
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from typer.testing import CliRunner

from curation.campaign.store import Campaign
from curation.cli import app
from curation.files import CurationError, dump_line
from curation.kinds import CAT_KINDS, GOLDS
from curation.models.rules import PROFILES, rules_of
from curation.records import Cat, CatAssociation, Score

Of = Callable[[Cat, str], float]


def make_cats() -> list[Cat]:
    """Four CATs a term, two of each kind; of five terms of two domains three are test."""
    found = []
    for number in range(20):
        term = number // 4
        three = tuple(
            CatAssociation(id=f"c{number}-{g}", sentence=f"{g} {number}.", gold=g) for g in GOLDS
        )
        found.append(
            Cat(
                id=f"c{number}", kind=CAT_KINDS[number % 2], domain=("craft", "sport")[term % 2],
                term=f"t{term}", target=f"term {term}", family=f"t{term}",
                split="test" if term < 3 else "dev", context="BLANK", associations=three,
            )
        )  # fmt: skip
    return found


CATS = make_cats()


def put(
    root: Path, model: str, rule: str, of: Of, cats: Sequence[Cat] = CATS, **about: Any
) -> Path:
    """A run of a causal model; the folder of one under ``default`` may be named after that."""
    folder = root / model.replace("/", "--") / rule
    folder.mkdir(parents=True)
    lines = [
        dump_line(Score(model=model, rule=rule, association=a.id, value=of(cat, a.gold)))
        for cat in cats
        for a in cat.associations
    ]
    (folder / "scores.jsonl").write_bytes(b"".join(lines))
    says = {"model": model, "family": "causal", **about}
    if rule.partition("+")[0] == "default":
        says["rules"] = rules_of(PROFILES["default"]["causal"], CAT_KINDS)
    (folder / "run.json").write_text(json.dumps(says), "utf-8")
    return folder


def likes(_: Cat, gold: str) -> float:
    """Always the stereotype first: ss 100, lms 100."""
    return 3.0 - GOLDS.index(gold)  # type: ignore[arg-type]


def hates(_: Cat, gold: str) -> float:
    """Always the anti-stereotype first: ss 0, lms 100."""
    return {"stereotype": 2.0, "anti-stereotype": 3.0, "unrelated": 1.0}[gold]


def mixed(cat: Cat, gold: str) -> float:
    """Each in turn, alike in both kinds: ss 50, lms 100."""
    return likes(cat, gold) if int(cat.id[1:]) % 4 < 2 else hates(cat, gold)


def chance(seed: int) -> Of:
    draw = random.Random(seed)
    return lambda *_: draw.random()


def scored_campaign(campaign: Campaign) -> Path:
    """Its folder, with three models under ``default`` and what annotators agree on."""
    campaign.folder("decisions").mkdir()
    write_cats(campaign.root, CATS)
    terms = [
        {"term": "term 0", "domain": "craft", "agreement": 79.5, "stereotype": 82.5},
        {"term": "term 1", "domain": "sport", "agreement": None, "stereotype": 82.5},
    ]
    (campaign.folder("decisions") / "agreement.json").write_text(
        json.dumps({"terms": terms}), "utf-8"
    )
    for model, of in (("bakery/likes", likes), ("hates", hates), ("mixed", mixed)):
        put(campaign.root / "5-scores", model, "default", of)
    return campaign.root


def write_gold(path: Path, cats: Sequence[Cat]) -> Path:
    labels = [{"label": "stereotype"}, {"label": "stereotype"}, {"label": "unrelated"}]
    data: dict[str, list[Any]] = {kind: [] for kind in CAT_KINDS}
    for cat in cats:
        sentences = [
            {"id": a.id, "sentence": a.sentence, "gold_label": a.gold, "labels": labels}
            for a in cat.associations
        ]
        data[cat.kind].append(
            {"id": cat.id, "target": cat.target, "bias_type": cat.domain, "context": cat.context,
             "sentences": sentences, "tier": cat.tier}
        )  # fmt: skip
    path.write_text(json.dumps({"version": "1", "data": data}), "utf-8")
    return path


def command(*args: object) -> tuple[int, str, str]:
    """Run a command in this process: its code, and what it prints on both streams."""
    result = CliRunner().invoke(app, list(map(str, args)))
    if isinstance(result.exception, CurationError):
        return 1, result.stdout, f"{result.stderr}{result.exception}"
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


class Told(NamedTuple):
    """What a command of scores printed, and the files that it wrote, by the options' names."""

    out: str
    err: str
    files: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.files["json"])

    @property
    def csv(self) -> list[dict[str, str]]:
        return list(csv.DictReader(self.files["csv"].splitlines()))

    @property
    def latex(self) -> str:
        return self.files["latex"]

    @property
    def plain(self) -> str:
        """All that it printed, on one line."""
        return " ".join(f"{self.out} {self.err}".split())


WRITES = {
    "compare": ("csv", "latex", "json"),
    "published": ("csv", "latex", "json"),
    "baselines": ("latex", "json"),
    "predictions": ("json",),
    "ensemble": (),
}


def told(*words: object) -> Told:
    """A command of scores that goes well, and that writes all the files that it can."""
    with TemporaryDirectory() as folder:
        paths = {option: Path(folder, option) for option in WRITES[str(words[0])]}
        files = (f"--{option}={path}" for option, path in paths.items())
        code, out, err = command("scores", *words, *files)
        assert code == 0, err
        return Told(out, err, {option: p.read_text("utf-8") for option, p in paths.items()})


def predicted(path: Path, of: Callable[[Cat, str], Any], cats: Sequence[Cat] = CATS) -> Path:
    """Write a file of predictions."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for cat in cats:
        scores = [{"id": a.id, "score": of(cat, a.gold)} for a in cat.associations]
        rows.setdefault(cat.kind, []).extend(scores)
    path.write_text(json.dumps(rows), "utf-8")
    return path


def write_cats(root: Path, cats: Sequence[Cat]) -> None:
    """Other CATs of a campaign."""
    (root / "3-decisions" / "cats.jsonl").write_bytes(b"".join(map(dump_line, cats)))


def refused(*args: object) -> CurationError:
    """The error that a command of scores ends with."""
    result = CliRunner().invoke(app, ["scores", *map(str, args)])
    assert isinstance(result.exception, CurationError), result.output
    return result.exception
