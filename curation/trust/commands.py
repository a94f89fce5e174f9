"""``curation trust``: measures of bias, and the report that says when they may be trusted.

Options:
    groups (NAME): Measure these groups of [groups.NAME]; repeatable. Default: all.
    source (NAME): Name of what is measured, in the name of the run. Default: the file's or model's.
    year: Year that the vectors are of; needs --source.
    file (FILE): Vectors: .bin, .txt or .vec (each also .gz), or .npz.
    model: A name on the Hugging Face hub, or a folder.
    files (FILE): The corpus: .txt with a document on each line, .jsonl (both also .gz) or .parquet.
    layer: The layer to read: 0 for the embeddings, 1 for the first …; default: the last.
    window: Sentences of a context; default: window in [trust].
    field: The field (JSON) or column (Parquet) that has the text.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign.source import gold_source
from curation.campaign.step import run_steps
from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.records import Bias, Fields
from curation.terminal import console, options
from curation.terminal.options import (
    Count,
    Json,
    Language,
    MaybeCount,
    Natural,
    Where,
    command_group,
)
from curation.text.rules import grouped
from curation.text.wording import amount
from curation.trust import steps
from curation.trust.protocol.attested import write_template
from curation.trust.protocol.report import HEADS, cells, failed, sentences, shown
from curation.trust.runs.files import TrustRun, read_groups, read_sets, read_words
from curation.trust.steps import ATTEST, PAGE, TrustReport
from curation.work.engine import Engine

if TYPE_CHECKING:
    from curation.models.states import StatesSpec

app = command_group()
Year = Annotated[int | None, typer.Option(min=1, max=9999)]
Window = Annotated[int | None, typer.Option(min=1, max=1000)]


@dataclass(frozen=True)
class StatesOptions:
    """How the states of a model are read."""

    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: MaybeCount = None
    revision: str = ""
    trust_remote_code: bool = False
    engine: Engine = "local"
    workers: MaybeCount = None

    def spec(self, model: str, layer: int | None) -> "StatesSpec":
        """The model, and the layer that is read."""
        from curation.models.states import StatesSpec

        how = (self.device, self.dtype, self.revision or None, self.trust_remote_code)
        return StatesSpec(model, *how, layer, self.batch_tokens)

    @property
    def work(self) -> Fields:
        """What reads the states, as arguments of a measure."""
        return options.options_of_work(self.engine, self.workers, self.device)


_STATES = StatesOptions()

FACTS = (
    "signed",
    "unit",
    "pairs",
    "alignment",
    "mean",
    "mean_absolute",
    "direct_bias",
    "mac",
    "weat",
)
"""The fields of ``run.json`` of a prior measure that JSON has, too."""


def show_runs(runs: Sequence[tuple["TrustRun", bool]], *, as_json: bool) -> None:
    """Print runs of a measure: a table for each, or all as JSON.

    Args:
        runs: each with whether it was measured now.
        as_json: print JSON and nothing else.
    """
    from curation.trust.measure.framework import COUNTED

    if as_json:
        rows = [
            {"run": run.name, "folder": run.folder, "measured": measured}
            | {name: run.about[name] for name in FACTS if name in run.about}
            | {"biases": [bias.model_dump() for bias in run.biases]}
            for run, measured in runs
        ]
        console.say_json({"runs": rows})
        return
    for run, measured in runs:
        names = run.biases[0].groups if run.biases else ()
        counts = run.measure in COUNTED  # contexts of no group, or of several, are not in p
        heads = ["target", "n", *["in p"] * counts, *(f"p {name}" for name in names)]
        heads += [*(f"{name} − p0" for name in names[:1]), "L1", "interval", "undefined"]
        console.table(run.name, heads, [_row(each, counts=counts) for each in run.biases])
        console.say(
            f"{'run' if measured else 'measured before, and nothing changed'}: {run.folder}"
        )


def _row(bias: "Bias", *, counts: bool) -> list[Any]:
    p = bias.p or (None,) * len(bias.groups)
    signed = None if bias.signed is None else bias.signed[0]
    used = [round(sum(each or 0 for each in bias.soa))] * counts
    return [bias.target, bias.n, *used, *p, signed, bias.l1, bias.l1_ci, bias.undefined]


def _asked(groups: list[str] | None, source: str, **reading: Any) -> Fields:
    """The arguments that measures of texts and models share."""
    return {"names": groups or (), "source": source, "reporter": console, **reading}


@app.command()
def text(
    files: Annotated[list[Path] | None, typer.Argument()] = None,
    labels: Path | None = None,
    groups: list[str] | None = None,
    source: str = "",
    window: Window = None,
    field: str = "text",
    language: Language = "",
    engine: Engine = "local",
    workers: Natural = 0,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure which groups targets are mentioned with in texts, or in people's labels of passages.

    In texts, a context is three consecutive sentences of a document. It counts for a group if it
    has a word of the target and a word of that group only. With --labels, a passage counts for the
    group that most annotators chose. Intervals are over documents, or over passages.

    If the passages are from the texts, give both the same --source: the trust report then compares
    them.

    Options:
        files (FILE): Texts with a document per line (.txt), record (.jsonl) or row (.parquet); the
            first two also as .gz.
        labels (FILE): People's labels of passages instead of texts: .csv or .jsonl.
        engine: This machine (local) or a Ray cluster (ray).
        workers: Number of processes; 0: one per core.
    """
    from curation.trust.runs.text import measure_labels, measure_texts

    opened = open_campaign(campaign)
    if bool(files) == bool(labels):
        raise CurationError(
            "give either files of text or --labels",
            "curation trust text corpus.jsonl.gz, or curation trust text --labels labels.csv",
        )
    if labels:
        runs = measure_labels(opened, labels, **_asked(groups, source))
    else:
        reading = {"window": window, "field": field, "language": language, "engine": engine}
        asked = _asked(groups, source, workers=workers or None, **reading)
        runs = measure_texts(opened, files or [], **asked)
    show_runs(runs, as_json=as_json)


@app.command()
def vectors(
    file: Path,
    groups: list[str] | None = None,
    source: str = "",
    year: Year = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in word embeddings of word2vec, GloVe or numpy.

    The strength of association is the cosine of the mean vectors of the target's words and of the
    group's words. Intervals are over the words of the groups. Words without a vector are left out.
    """
    from curation.trust.runs.vectors import VectorFile, measure_vectors

    names, opened = groups or (), open_campaign(campaign)
    given = VectorFile(opened, file, names, source, year, reporter=console)
    show_runs(measure_vectors(given), as_json=as_json)


@app.command()
def prior(
    file: Path,
    groups: list[str] | None = None,
    measures: Annotated[list[str] | None, typer.Option("--measure")] = None,
    scale: Literal["own", "raw", "unit"] = "own",
    strictness: Annotated[float, typer.Option(min=0, max=100)] = 1.0,
    x: Path | None = None,
    y: Path | None = None,
    source: str = "",
    year: Year = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure targets by the measures of earlier work: Bolukbasi, Caliskan, Garg, Manzini, RIPA.

    Each is a run of its own. A positive value means that the target is closer to the first group;
    manzini has no such sign. With --x and --y, only caliskan is computed, and its run
    has the test WEAT.

    Options:
        measures (NAME): Compute this measure; repeatable. Default: all that fit the number of
            groups, or caliskan with --x and --y.
        scale: Vectors as in the file (raw), of length 1 (unit), or as the authors of each measure
            use them (own).
        strictness: The exponent c of direct bias.
        x (FILE): Words of WEAT's first target set; needs --y.
        y (FILE): Words of WEAT's second target set; needs --x.
    """
    from curation.trust.runs.vectors import VectorFile, measure_prior, read_target_sets

    sets, opened = read_target_sets(x, y, measures or ()), open_campaign(campaign)
    more = [word for _, words in sets or () for word in words]
    given = VectorFile(opened, file, groups or (), source, year, more, console)
    runs = measure_prior(
        given, measures=measures or (), scale=scale, strictness=strictness, sets=sets
    )
    if as_json:
        show_runs(runs, as_json=True)
        return
    for name in dict.fromkeys(run.groups for run, _ in runs):
        _show_prior([(run, measured) for run, measured in runs if run.groups == name])


def _show_prior(runs: Sequence[tuple["TrustRun", bool]]) -> None:
    """One row for each target, then one for each measure."""
    first = runs[0][0]
    names = first.biases[0].groups if first.biases else ()
    rows = list(zip(*(run.biases for run, _ in runs), strict=True))
    why = [dict.fromkeys(bias.undefined for bias in row if bias.undefined) for row in rows]
    console.table(
        f"{first.groups}: prior measures",
        ["target", *(run.measure for run, _ in runs), "undefined"],
        [
            [row[0].target, *(bias.value for bias in row), ", ".join(codes) or None]
            for row, codes in zip(rows, why, strict=True)
        ],
    )
    if names:
        console.say(f"positive, if a measure is signed: closer to {names[0]}")
    table = []
    for run, measured in runs:
        about = run.about
        values = [about.get(name) for name in ("mean", "mean_absolute", "alignment")]
        number = about.get("pairs", sum(about.get("group_words", {}).values()))
        state = str(run.folder) if measured else f"{run.folder} (measured before)"
        table.append([run.measure, about.get("signed"), number, *values, state])
    heads = ["measure", "signed", "words or pairs", "mean", "mean |value|", "alignment", "run"]
    console.table("Measures", heads, table)
    for run, _ in runs:
        if weat := run.about.get("weat"):
            _show_weat(weat, names)


def _show_weat(weat: Fields, names: Sequence[str]) -> None:
    x, y = weat["x"], weat["y"]
    words = [f"{each['name']} ({len(each['words'])})" for each in (x, y)]
    effects = [weat[f"effect_size_{form}"] for form in ("population", "sample")]
    count = f"{weat['partitions']} ({'all' if weat['exact'] else 'drawn'})"
    console.table(
        "WEAT",
        ["X", "Y", "statistic", "effect (population)", "effect (sample)", "p", "partitions"],
        [[*words, f"{weat['statistic']:.4f}", *effects, f"{weat['p']:.3g}", count]],
    )
    console.say(f"positive: {x['name']} is closer to {names[0]} than {y['name']} is")


@app.command()
def debias(
    file: Path,
    *,
    method: Literal["hard", "multiclass", "soft"],
    groups: str,
    out: Path,
    source: str = "",
    judges: Annotated[list[str] | None, typer.Option("--judge")] = None,
    keep: Path | None = None,
    equalise: Path | None = None,
    dimensions: Annotated[int | None, typer.Option(min=1, max=100)] = None,
    weight: Annotated[float, typer.Option(min=0, max=1000000000.0)] = 0.2,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write a copy of word vectors with less bias, and show how measures of bias change.

    All vectors get length 1. A file OUT.json beside the new one says how it was made. Both files
    are measured, too, as by «curation trust vectors» and «curation trust prior»: the runs are in
    6-trust/runs/. To compare them in the trust report, name them in mitigation of [trust].

    Options:
        method: hard: two groups. multiclass: hard, any number. soft: a linear map.
        groups (NAME): The groups, [groups.NAME].
        out (FILE): The new file: .bin, .vec, .txt or .npz.
        source (NAME): Name of the original in the names of its runs. Default: that of a run of this
            file, else the file's.
        judges (NAME): Measure both files with these groups; repeatable. Default: those of --groups,
            whose words show little, since the method was fitted on them.
        keep (FILE): Words that keep their bias, one on each line.
        equalise (FILE): Sets of words to make equal, one set on each line. Default: the groups'
            words at the same place of their lists.
        dimensions: Dimensions of the subspace. Default: one less than groups.
        weight: soft: the weight λ of bias.
    """
    from curation.trust.runs import vectors

    opened = open_campaign(campaign)
    (chosen,) = read_groups(opened, [groups])
    made = vectors.debias(
        opened,
        chosen,
        file,
        out,
        method=method,
        source=source,
        judges=judges or (),
        keep=read_words(keep) if keep else (),
        equalise=read_sets(equalise, len(chosen.words)) if equalise else None,
        dimensions=dimensions,
        weight=weight,
        reporter=console,
    )
    if as_json:
        files = {"file": made.path, "report": made.report}
        runs = [[run.name for run in pair] for pair in made.runs]
        console.say_json({**files, "runs": runs, **made.about})
        return
    console.table(
        f"{chosen.name}: means before and after, on vectors of length 1",
        ["measure", "targeted", "before", "after", "targets"],
        [
            [each.measure, each.targeted, _shown(each.before), _shown(each.after), each.n]
            for each in made.changes
        ],
    )
    for after, _ in made.runs:
        for found in (each for each in after.evidence if each.check == "held_out"):
            change = _shown(found.value) or "none"
            console.say(f"{after.name}: {found.statistic}: {change}; {found.detail}")
    console.say(f"{amount(made.about['words'], 'word')} in {made.path}; see {made.report}")
    pairs = ", ".join(f'["{after.name}", "{before.name}"]' for after, before in made.runs)
    console.say(f"next: write mitigation = [{pairs}] into [trust], then curation trust report")


def _shown(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


@app.command()
def contextual(
    model: str,
    files: list[Path],
    groups: list[str] | None = None,
    source: str = "",
    layer: int | None = None,
    most: Natural = 1_000,
    repeats: bool = False,
    window: Annotated[int, typer.Option(min=1, max=1000)] = 1,
    language: Language = "",
    field: str = "text",
    states: StatesOptions = _STATES,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in a model's representations of words in a corpus.

    A word's vector is the mean of its states over its contexts in the files: by default over at
    most 1,000 different ones, with --most 0 --repeats over all, as in the paper. The strength of
    association is the cosine of the mean vectors of the target's words and of the group's words.
    Intervals are over documents. If the command is interrupted, run it again: it goes on where it
    stopped.

    Options:
        most: Contexts of each word, at random; 0: all, as in the paper.
        repeats: Count repeated contexts, as in the paper; default: once.
        window: Sentences of a context.
    """
    from curation.trust.runs.contextual import measure_contextual

    spec, opened, work = states.spec(model, layer), open_campaign(campaign), states.work
    asked = _asked(groups, source, window=window, language=language, field=field, **work)
    runs = measure_contextual(opened, spec, files, most=most or None, repeats=repeats, **asked)
    show_runs(runs, as_json=as_json)


@app.command()
def probe(
    model: str,
    files: list[Path],
    labels: Path | None = None,
    automatic: bool = False,
    groups: list[str] | None = None,
    source: str = "",
    per_target: bool = False,
    every_mention: bool = False,
    layer: int | None = None,
    most: Count = 1_000,
    window: Window = None,
    language: Language = "",
    field: str = "text",
    states: StatesOptions = _STATES,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in a model's representations by a linear classifier.

    The classifier learns from labelled passages which group a target is associated with, or none.
    The strength of association is the number of further passages for which it predicts the group.
    By default one classifier learns from all targets, as in the paper's code, because a target has
    few labels; the paper's text has one for each (--per-target). A passage with several mentions of
    the target counts once, also with --every-mention. Give --labels or --automatic. If the command
    is interrupted, run it again: it goes on where it stopped.

    Options:
        labels (FILE): Train on people's labels: a table (CSV, .jsonl) with the columns passage,
            text, target, group, annotator, submitted_at.
        automatic: Train on automatic labels of passages of the files.
        per_target: A probe per target, as in the paper; default: one.
        every_mention: Read all mentions, as in the paper; default: first.
        most: Passages of each target, a random sample.
    """
    from curation.trust.runs.contextual import measure_probe

    if automatic is (labels is not None):
        raise CurationError(
            "the probe needs labels: give either --labels or --automatic",
            "use --labels FILE for people's labels, or --automatic",
        )
    spec, opened, work = states.spec(model, layer), open_campaign(campaign), states.work
    asked = _asked(groups, source, window=window, language=language, field=field, **work)
    asked |= {"labels": labels, "per_target": per_target, "every_mention": every_mention}
    runs = measure_probe(opened, spec, files, most=most, **asked)
    show_runs(runs, as_json=as_json)
    if not as_json:
        rows = [
            [run.groups, name, *(found[key] for key in ("accuracy", "majority", "control"))]
            for run, _ in runs
            for name, found in run.about.get("probes", {}).items()
        ]
        heads = ["groups", "probe of", "accuracy", "commonest label", "shuffled labels"]
        console.table("Accuracy by cross-validation over documents", heads, rows)


# --- the report ---------------------------------------------------------------------------------

_OUT, _SCORES = Path("trust"), Path("scores")
_TITLES = {
    "test": "",  # that of the subject
    "control": "Negative controls (wrong on purpose): their criterion must reject them",
    "software": "Checks of the software: what holds by construction, and shows nothing",
}
_ASKING = (
    *(("test", status) for status in ("fail", "grew", "fell", "moved", "not_shown")),
    ("test", "inconclusive"),
    ("control", "fail"),
    ("software", "broken"),
)
"""The rows that are printed without --all: what two runs show, and what may need work."""


@app.command()
def report(
    campaign: Where = Path(),
    gold: list[Path] | None = None,
    scores: Path = _SCORES,
    predictions: list[str] | None = None,
    lower_is_likelier: list[str] | None = None,
    language: Language = "",
    out: Path = _OUT,
    strict: bool = False,
    every: Annotated[bool, typer.Option("--all")] = False,
    as_json: Json = False,
) -> None:
    """Say criterion by criterion what is known about measures, the dataset and scores.

    The criteria are those of Bommasani and Liang (2022), and reliability by split halves and by a
    retest. Each has a status, the number behind it, and what would change it. There is no overall
    verdict.

    The first report writes attest.toml, with questions about the use of the results that only your
    team can answer. A release takes the report, and first brings it up to date.

    Options:
        predictions (NAME[@RULES]=FILE): With --gold: a model's predictions file; @RULES declares
            the profile or rule it was scored by. Repeatable.
        out (DIR): With --gold: the folder of the report and of attest.toml.
        strict: Exit with 1 if a criterion fails, or if bias grew after a method that should reduce
            it; for scripts.
        every: Print all rows, not only comparisons and those that fail or are inconclusive. The
            files always have all.
    """
    if gold:
        if scores != _SCORES and not scores.is_dir():
            raise CurationError(f"--scores {scores}: is not a folder", "name a folder of scores")
        source = gold_source(gold, scores=scores, language=language, reporter=console)
        found = steps.gold_report(
            source,
            out,
            predictions=predictions or (),
            lower_is_likelier=lower_is_likelier or (),
            reporter=console,
        )
    else:
        of_gold = {
            "--scores": scores != _SCORES,
            "--predictions": predictions,
            "--lower-is-likelier": lower_is_likelier,
            "--language": language,
            "--out": out != _OUT,
        }
        if given := [name for name, value in of_gold.items() if value]:
            raise CurationError(
                f"{given[0]} is only for gold files: a campaign has its own scores and language",
                "name gold files with --gold, or leave this option out",
            )
        opened = open_campaign(campaign)
        with opened.lock():
            write_template(steps.attest_file(opened))
            run_steps(opened, steps.trust, reporter=console)
        found = steps.read_report(steps.place(opened))
    if as_json:
        rows = [row.model_dump() for row in found.rows]
        known = {"file": found.path, "counts": found.counts, "open": found.open}
        console.say_json({**known, "left_out": found.left_out, "rows": rows})
    else:
        _show_report(found, every=every)
    failures = failed(found.rows)
    if strict and failures:
        for row in failures:
            said = f"{row.criterion.replace('_', ' ')}: {shown(row)}"
            console.warn(f"{said}: {row.subject} {row.name}, {row.check}")
        raise typer.Exit(1)


def _show_report(found: "TrustReport", *, every: bool) -> None:
    """A table for each subject, then those of controls and of the software; then sentences."""
    from curation.trust.protocol.checks import words

    rows = sorted(found.rows, key=lambda row: [*_TITLES].index(row.kind))
    tables = grouped(
        (_TITLES[row.kind] or f"{words().subjects[row.subject]}: {row.name}", row) for row in rows
    )
    for title, own in tables.items():
        asking = [row for each in _ASKING for row in own if (row.kind, row.status) == each]
        if rows := own if every else asking:
            named = ["of"] if rows[0].kind != "test" else []
            heads = [*named, *(head.lstrip(">") for head in HEADS)]
            texts = [[*(row.name for _ in named), *cells(row)] for row in rows]
            least = ["power", "n", "p", "threshold", "statistic"]
            console.table(title, heads, texts, least=least, whole="6-trust/report.md")
    if all(row.kind != "test" for row in found.rows):
        console.say("There is nothing to test yet: no measure, no dataset and no scores.")
    elif not every:
        console.say("--all prints the other rows, too")
    if ends := Counter(shown(row) for row in found.rows if row.kind == "control"):
        parts = [f"{count} {verdict}" for verdict, count in ends.items()]
        console.say(
            f"{amount(ends.total(), 'negative control')} (wrong on purpose): {', '.join(parts)}"
        )
    for text in (*sentences(found.rows, open=len(found.open)), words().no_verdict):
        console.say(text)
    if found.open:
        console.say(f"open in {found.path.with_name(ATTEST)}: {', '.join(found.open)}")
    console.say(f"{found.path.with_name(PAGE)} says what was computed, and what would change it")
