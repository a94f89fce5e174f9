"""Everything that a release with hidden labels publishes about them, as equations for the attack.

Reads what anybody can download: ``release.json``, the StereoSet files, the card and other texts.
Nothing here comes from ``curation.release``, so a mistake there is not repeated here.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hidden_attack import (
    LIMIT,
    ROUNDED,
    Equations,
    Sets,
    anneal,
    budget,
    guess,
    linear,
    right,
    weights_of,
)
from numpy.typing import NDArray

from curation.files import CurationError
from curation.formats.predictions import read_predictions, scores_of
from curation.kinds import CAT_KINDS, GOLDS, Kind
from curation.records import Cat, CatAssociation
from curation.stats.artefacts import artefacts
from curation.text.words import CLEAR, NotCheckedError, vader

Array = NDArray[np.float64]
BOTH = "both"
KNOWN = ("IdealLM", "StereotypedLM", "RandomLM")  # the same whatever the labels are
BY_ORDER = ("FirstLM", "LastLM")  # about the order before hiding, which nobody knows
TEXTS = ("README.md", "STATEMENT.md", "CITATION.cff", "croissant.json", "datapackage.json")
SWEEPS, RUNS = 60, 32


class Figure(NamedTuple):
    """A published number that depends on hidden labels.

    ``source`` is the part of ``release.json``, ``name`` a model, a rule or a label. ``metric`` is
    "ss", "icat", "ss interval", "icat interval", "negative", or what a row is about. ``used`` says
    whether it became an equation.
    """

    source: str
    name: str
    kind: str
    metric: str
    value: Any
    used: bool = False


class Option(NamedTuple):
    """An option of a CAT: its sentence, and its number if the CAT has the sentence twice."""

    sentence: str
    number: int


class CatTexts(NamedTuple):
    """The texts of a CAT, by which it is the same CAT in two versions; options are sorted."""

    kind: Kind
    context: str
    options: tuple[Option, ...]


Place = tuple[CatTexts, Option]


@dataclass(frozen=True)
class Hidden:
    """A hidden CAT: its two meaningful options in alphabetical order, and the unrelated one."""

    domain: str
    target: str
    texts: CatTexts
    options: tuple[Option, Option]
    unrelated: Option

    @property
    def kind(self) -> Kind:
        """The kind of the CAT."""
        return self.texts.kind


@dataclass
class Found:
    """What the attack on a folder used and found.

    Attributes:
        cats: the number of hidden CATs of the release.
        figures: the published numbers that depend on hidden labels.
        equations: how many of the equations are independent.
        without, linear, annealing: the share of right orders in per cent; None without gold labels.
        residual: the largest residual of an equation with the true labels, in standard deviations
            of the rounding: below 2 if the attack computes what the release published.
        texts: numbers in texts that are not in ``release.json``, with file and line.
        notes: what could not be used, and why.
    """

    cats: int
    figures: list[Figure]
    equations: int = 0
    without: float | None = None
    residual: float | None = None
    linear: float | None = None
    annealing: float | None = None
    texts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def sources(self) -> set[tuple[str, str]]:
        """The models, rules and others with figures; ss, icat and intervals of one count once.

        Agreement is not among them: it is about the votes of annotators, which nobody knows.
        """
        return {
            (figure.source, "" if figure.source == "sentiment" else figure.name)
            for figure in self.figures
            if figure.source != "agreement"
        }

    @property
    def gain(self) -> float | None:
        """What the better estimate gains, in points."""
        if self.without is None or self.linear is None or self.annealing is None:
            return None
        return max(self.linear, self.annealing) - self.without


# --- what is published ----------------------------------------------------------------------------


def figures_of(facts: Mapping[str, Any]) -> Iterator[Figure]:
    """The numbers in ``release.json`` that depend on hidden labels."""
    split = facts["hidden"]["split"]
    baselines = [(b["model"], b) for b in facts["baselines"]]
    rows = [("scores", _name(row), row) for row in facts["scores"]]
    rows += [
        ("baselines", name, row) for name, b in baselines if name not in KNOWN for row in b["rows"]
    ]
    for source, name, row in rows:
        if row["split"] != split:
            continue
        for metric in ("ss", "icat"):
            if row.get(metric) is not None:
                yield Figure(source, name, row["kind"], metric, row[metric])
            if row.get(f"{metric}_ci") is not None:
                yield Figure(source, name, row["kind"], f"{metric} interval", row[f"{metric}_ci"])
    for name, baseline in baselines:
        for text in baseline["beyond"]:
            if text.startswith("ss") and text.endswith(f", {split}"):
                yield Figure("baselines", name, "", "text", text)
    for row in facts["sentiment"]:
        if row["label"] != "unrelated":
            yield Figure("sentiment", row["label"], row["kind"], "negative", row["share"])
    for row in facts["agreement"]:
        yield Figure("agreement", row["measure"], BOTH, row["classes"], row["value"])
    for row in (facts.get("trust") or {}).get("rows", ()):
        if row["subject"] != "measure" and row["value"] is not None:
            yield Figure("trust", row["name"], BOTH, row["check"], row["value"])


def _name(row: Mapping[str, Any]) -> str:
    return str(row["model"])


def stray_numbers(folder: Path, facts: Mapping[str, Any]) -> Iterator[str]:
    """Numbers about scores or the hidden split in texts, if ``release.json`` does not have them."""
    known = set(_numbers(facts))
    names = {_name(row) for row in facts["scores"]} | {b["model"] for b in facts["baselines"]}
    split = facts["hidden"]["split"]
    about = re.compile("|".join([rf"\b(?:{split}|ss|icat)\b", *map(re.escape, sorted(names))]))
    paths = [folder / name for name in TEXTS] + [folder / "errata.jsonl"]
    paths += sorted((folder / "lm-eval").rglob("*"))
    for path in paths:
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            line = re.sub(r"https?://\S+|[0-9a-f]{16,}", "", line)
            if not about.search(line):
                continue
            for text in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)", line):
                digits = len(text.partition(".")[2])
                if not any(f"{value:.{digits}f}" == text for value in known):
                    yield f"{path.relative_to(folder)}:{number}: {text}"


def _numbers(content: Any) -> Iterator[float]:
    """All numbers of a JSON value, also in its texts; shares also in per cent."""
    if isinstance(content, Mapping):
        for value in content.values():
            yield from _numbers(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _numbers(value)
    elif isinstance(content, str):
        yield from map(float, re.findall(r"\d+\.\d+|\d+", content[:10_000])[:100])
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield from (abs(content), 100 * abs(content))


# --- CATs and scores ------------------------------------------------------------------------------


def _items(path: Path) -> Iterator[tuple[Kind, dict[str, Any]]]:
    data = json.loads(path.read_text("utf-8"))["data"]
    return ((kind, item) for kind in CAT_KINDS for item in data.get(kind, ()))


def _options(item: Mapping[str, Any]) -> list[Option]:
    """The options of an item in its order."""
    sentences = [str(option["sentence"]) for option in item["sentences"]]
    return [Option(text, sentences[:at].count(text)) for at, text in enumerate(sentences)]


def _texts(kind: Kind, item: Mapping[str, Any]) -> CatTexts:
    return CatTexts(kind, str(item["context"]), tuple(sorted(_options(item))))


class Texts:
    """What models score: by CAT and option, in any version; and each option's gold label."""

    def __init__(self, folders: Iterable[Path], predictions: Sequence[str], gold: Path | None):
        self.place: dict[str, Place] = {}
        self.gold: dict[Place, str] = {}
        self.scores: dict[str, dict[Place, float]] = {}
        for folder in folders:
            for split in ("dev", "test"):
                path = folder / f"{split}.json"
                for kind, item in _items(path) if path.exists() else ():
                    self._note(kind, item)
        if gold is not None:
            for line in gold.read_text("utf-8").splitlines():
                item = json.loads(line)
                self._note(item["kind"], item)
        for given in predictions:
            name, _, path = given.rpartition("=")
            file = Path(path)
            read = scores_of(read_predictions(file), where=str(file))
            values = {self.place[i]: v for i, v in read.values.items() if i in self.place}
            self.scores[name or file.stem] = values

    def _note(self, kind: Kind, item: Mapping[str, Any]) -> None:
        cat = _texts(kind, item)
        for option, given in zip(_options(item), item["sentences"], strict=True):
            self.place[given["id"]] = cat, option
            if given["gold_label"] in GOLDS:
                self.gold[cat, option] = given["gold_label"]

    def unrelated(self, cat: CatTexts) -> Option:
        """The unrelated option: readers see it; without gold labels, what models like least."""
        for option in cat.options:
            if self.gold.get((cat, option)) == "unrelated":
                return option
        if not self.scores:
            raise CurationError(
                "nothing says which options are unrelated", "give --gold or --predictions"
            )
        ranks = np.zeros(len(cat.options))
        for scores in self.scores.values():
            own = [scores.get((cat, option), 0.0) for option in cat.options]
            ranks += np.argsort(np.argsort(own))
        return cat.options[int(ranks.argmin())]

    def prefers(self, cat: Hidden, model: str) -> float | None:
        """What a model prefers: +1 the first option, -1 the second; None without scores."""
        scores = self.scores[model]
        first, second = (scores.get((cat.texts, option)) for option in cat.options)
        return None if first is None or second is None else float(np.sign(first - second))


def hidden_cats(folder: Path, split: str, texts: Texts) -> list[Hidden]:
    """The hidden CATs of a release."""
    found = []
    for kind, item in _items(folder / f"{split}.json"):
        cat = _texts(kind, item)
        unrelated = texts.unrelated(cat)
        first, second = (option for option in cat.options if option != unrelated)
        found.append(Hidden(item["bias_type"], item["target"], cat, (first, second), unrelated))
    return found


def rule_scores(cats: Sequence[Hidden], language: str) -> dict[str, list[float]]:
    """What each baseline that texts alone decide prefers in each CAT."""
    made = [
        Cat(
            id=f"{n}",
            kind=cat.kind,
            domain=cat.domain,
            term=f"{cat.domain}/{cat.target}",
            target=cat.target,
            family=cat.target,
            split="test",
            context=cat.texts.context,
            associations=(
                CatAssociation(id=f"{n}-0", sentence=cat.options[0].sentence, gold="stereotype"),
                CatAssociation(
                    id=f"{n}-1", sentence=cat.options[1].sentence, gold="anti-stereotype"
                ),
                CatAssociation(id=f"{n}-2", sentence=cat.unrelated.sentence, gold="unrelated"),
            ),
        )
        for n, cat in enumerate(cats)
    ]
    return {
        rule.name: [
            float(np.sign(rule.scores[f"{n}-0"] - rule.scores[f"{n}-1"])) for n in range(len(cats))
        ]
        for rule in artefacts(made, language=language)
        if rule.scores is not None and rule.name not in BY_ORDER
        and all(f"{n}-0" in rule.scores for n in range(len(cats)))
    }  # fmt: skip


# --- equations ------------------------------------------------------------------------------------


class Builder:
    """The equations of one version over all hidden CATs of all versions."""

    def __init__(self, folder: Path, cats: list[Hidden], own: list[Hidden], texts: Texts):
        self.folder, self.cats, self.texts = folder, cats, texts
        self.facts = json.loads((folder / "release.json").read_text("utf-8"))
        keys = {cat.texts for cat in own}
        self.mine = np.array([cat.texts in keys for cat in cats])
        terms = {name: n for n, name in enumerate({(c.domain, c.target): 0 for c in cats})}
        self.term = np.array([terms[c.domain, c.target] for c in cats])[:, None]
        self.notes: list[str] = []
        self.rows: list[tuple[Array, float, float]] = []
        self.rules: dict[str, list[float]] | None = None

    def figures(self) -> list[Figure]:
        """All figures of the version, and whether they were used."""
        every = list(figures_of(self.facts))
        with_ss = {(f.source, f.name, f.kind) for f in every if f.metric == "ss"}
        return [
            figure._replace(used=self._use(figure))
            if figure.metric != "icat" or figure[:3] not in with_ss
            else figure
            for figure in every
        ]

    def _use(self, figure: Figure) -> bool:
        if figure.source == "sentiment":
            return self._sentiment(figure)
        if figure.metric not in ("ss", "icat") or figure.source not in ("scores", "baselines"):
            return False
        part = self.mine & np.array([figure.kind in (BOTH, cat.kind) for cat in self.cats])
        prefers = self._prefers(figure, part)
        if prefers is None:
            self.notes.append(f"{figure.name}, {figure.kind}: no scores of all CATs")
            return False
        weights = weights_of(self.term, part[:, None])[:, 0] * prefers
        value, error = 2 * figure.value / 100 - 1, 2 * ROUNDED / 100 / np.sqrt(3)
        if figure.metric == "icat":
            lms = self._lms(figure)
            if not lms:
                return False
            # icat = lms (1 - |2 ss/100 - 1|); most models are above 50.
            value, error = 1 - figure.value / lms, 2 * ROUNDED / lms / np.sqrt(3)
        self.rows.append((weights, value, error))
        return True

    def _lms(self, figure: Figure) -> float:
        rows = [r for r in self.facts["scores"] if _name(r) == figure.name]
        return next(
            (r["lms"] or 0.0 for r in rows
             if r["kind"] == figure.kind and r["split"] == self.facts["hidden"]["split"]), 0.0,
        )  # fmt: skip

    def _prefers(self, figure: Figure, part: Array) -> Array | None:
        if figure.source == "scores":
            if figure.name not in self.texts.scores:
                return None
            found = [self.texts.prefers(cat, figure.name) for cat in self.cats]
            if any(x is None for x, own in zip(found, part, strict=True) if own):
                return None
            return np.array([x or 0.0 for x in found])
        if self.rules is None:
            self.rules = rule_scores(self.cats, self.facts["language"])
        x = self.rules.get(figure.name)
        return None if x is None else np.array(x)

    def _sentiment(self, figure: Figure) -> bool:
        """An equation from the share of negative options with a label, over dev and hidden CATs."""
        if self.facts["sentiment_by"] != "VADER":
            return False
        row = next(
            r for r in self.facts["sentiment"]
            if (r["label"], r["kind"]) == (figure.name, figure.kind)
        )  # fmt: skip
        part = self.mine & np.array([figure.kind in (BOTH, cat.kind) for cat in self.cats])
        other = "dev" if self.facts["hidden"]["split"] == "test" else "test"
        public = [
            str(option["sentence"])
            for kind, item in _items(self.folder / f"{other}.json")
            if figure.kind in (BOTH, kind)
            for option in item["sentences"]
            if option["gold_label"] == figure.name
        ]
        if len(public) + part.sum() != row["cats"]:
            return False
        try:
            known = self._negative(public).sum()
            first = self._negative([cat.options[0].sentence for cat in self.cats]) * part
            second = self._negative([cat.options[1].sentence for cat in self.cats]) * part
        except NotCheckedError:
            return False
        sign = 1 if figure.name == "stereotype" else -1
        count, scale = row["share"] / 100 * row["cats"] - known, 2 / max(1, part.sum())
        value = sign * (count - (first + second).sum() / 2) * scale
        self.rows.append(
            (
                (first - second) * scale / 2,
                value,
                ROUNDED / 100 * row["cats"] * scale / np.sqrt(3),
            )
        )
        return True

    def _negative(self, sentences: Sequence[str]) -> Array:
        values = vader(sentences, language=self.facts["language"])
        return (np.array(values) <= -CLEAR).astype(float)


def attack_folder(
    release: Path,
    predictions: Sequence[str],
    *,
    gold: Path | None = None,
    earlier: Path | None = None,
) -> Found:
    """Attack the hidden labels of a release with everything that is published about them.

    Args:
        release: the folder of a release with hidden labels.
        predictions: files with models' scores of the public options, as FILE or MODEL=FILE; those
            of the public dev CATs, too, tell what the models' preferences are worth.
        gold: the private gold file, which says which option is unrelated and counts what is right.
        earlier: the folder of an earlier version with hidden labels.

    Raises:
        CurationError: the release hides nothing, or a file of predictions is damaged.
    """
    folders = [release] + ([earlier] if earlier else [])
    split = {}
    for folder in folders:
        facts = json.loads((folder / "release.json").read_text("utf-8"))
        if not facts["hidden"]:
            raise CurationError(f"{folder}: hides no gold labels", "give a release that does")
        split[folder] = facts["hidden"]["split"]
        if not (folder / f"{split[folder]}.json").exists():
            raise CurationError(
                f"{folder}: has no texts of its hidden CATs, so there is nothing to attack",
                "give a release that hides labels only",
            )
    texts = Texts(folders, predictions, gold)
    own = {folder: hidden_cats(folder, split[folder], texts) for folder in folders}
    cats = list({cat.texts: cat for folder in folders for cat in own[folder]}.values())
    found = Found(len(own[release]), [])
    builders = [Builder(folder, cats, own[folder], texts) for folder in folders]
    for builder in builders:
        found.figures += builder.figures()
        found.notes += builder.notes
        found.texts += stray_numbers(builder.folder, builder.facts)
    rows = [row for builder in builders for row in builder.rows]
    weights = np.array([row[0] for row in rows]).reshape(len(rows), len(cats))
    found.equations = int(np.linalg.matrix_rank(weights, tol=1e-6)) if rows else 0
    if gold is None:
        return found
    sets = _sets(builders[0], cats, split[release])
    before = guess(sets)
    first = slice(0, found.cats)  # those of the release; the others are only in the earlier one
    labels = sets.labels[first]
    found.without = float(right(before.mean[first], labels)[0])
    found.linear = found.annealing = found.without
    if rows:
        given = Equations(
            weights.T[:, None].astype(np.float32),
            np.array([[row[1] for row in rows]]),
            np.array([row[2] for row in rows]),
        )
        residual = given.values[0] - weights @ sets.labels[:, 0]
        found.residual = float((np.abs(residual) / given.error).max())
        estimate = linear(before, given)
        rng = np.random.default_rng(0)
        better = anneal(rng, before, given, start=estimate, sweeps=SWEEPS, runs=RUNS)
        found.linear = float(right(estimate[first], labels)[0])
        found.annealing = float(right(better[first], labels)[0])
    return found


def _sets(builder: Builder, cats: Sequence[Hidden], split: str) -> Sets:
    """The hidden CATs, what models prefer in them and in the public CATs, and the labels."""
    texts = builder.texts
    models = sorted(texts.scores)
    prefers = np.array([[texts.prefers(cat, m) or 0.0 for m in models] for cat in cats])
    public = []
    for kind, item in _items(builder.folder / f"{'dev' if split == 'test' else 'test'}.json"):
        own = _texts(kind, item)
        given = zip(_options(item), item["sentences"], strict=True)
        by_gold = {option["gold_label"]: place for place, option in given}
        pair = by_gold["stereotype"], by_gold["anti-stereotype"]
        cat = Hidden(item["bias_type"], item["target"], own, pair, by_gold["unrelated"])
        public.append([texts.prefers(cat, m) or 0.0 for m in models])
    labels = [
        {"stereotype": 1, "anti-stereotype": -1}.get(
            texts.gold.get((cat.texts, cat.options[0]), ""), 0
        )
        for cat in cats
    ]
    shape = (len(models),) if models else (1,)
    return Sets(
        prefers=prefers.reshape(len(cats), 1, -1).astype(np.float32)
        if models else np.zeros((len(cats), 1, *shape), np.float32),
        public=np.array(public, np.float32).reshape(len(public), 1, -1)
        if models else np.zeros((0, 1, *shape), np.float32),
        labels=np.array(labels, np.float32)[:, None],
        term=builder.term,
        kind=np.array([CAT_KINDS.index(cat.kind) for cat in cats])[:, None],
    )  # fmt: skip


def report(found: Found) -> Iterator[str]:
    """What the attack found, as lines."""
    allowed = budget(found.cats)
    yield f"{found.cats} hidden CATs; at most {allowed} figures keep the gain within 3 points"
    yield ""
    yield f"{'published about hidden labels':34}{'numbers':>9}{'equations':>11}"
    counts: dict[tuple[str, str], list[int]] = {}
    for figure in found.figures:
        metric = figure.metric if figure.source in ("scores", "baselines", "sentiment") else ""
        own = counts.setdefault((figure.source, metric), [0, 0])
        own[0] += 1
        own[1] += figure.used
    for (source, metric), (number, used) in counts.items():
        yield f"{f'{source} {metric}'.strip():34}{number:9}{used:11}"
    yield f"{'independent equations':43}{found.equations:11}"
    yield f"{'models, rules and others':43}{len(found.sources):11}"
    if max(found.equations, len(found.sources)) > allowed:
        yield f"more than the budget of {allowed}"
    yield ""
    if found.without is not None:
        if found.residual is not None:
            yield f"largest residual of the true labels: {found.residual:.1f} of the rounding's SD"
        yield f"right without figures: {found.without:.1f} %"
        for name, value in (("linear estimate", found.linear), ("annealing", found.annealing)):
            assert value is not None
            yield f"right by {name}: {value:.1f} %, gain {value - found.without:+.1f}"
        error = 50 / np.sqrt(found.cats)
        yield f"(one set: chance alone moves these by about {error:.1f}; the limit is {LIMIT:.0%})"
    for title, lines in (("not in release.json", found.texts), ("not used", found.notes)):
        if lines:
            yield ""
            yield f"{title}: {len(lines)}"
            yield from (f"  {line}" for line in lines[:20])
