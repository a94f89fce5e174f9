"""``curation trust``: measures of bias, and the report that says when they may be trusted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign import open_campaign
from curation.cli import console, model_options, trust_report
from curation.cli.model_options import EngineName
from curation.cli.options import FILE, Json, Language, Where
from curation.files import CurationError
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.records import Bias
    from curation.steps.trust.runs import TrustRun
    from curation.steps.trust.vectors import TargetSets

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Measure bias towards groups, and report what is known about whether it may be trusted.\n\n"
        "Name your groups in [groups.NAME] of campaign.toml. Each measure writes a run to "
        "6-trust/runs/. «curation trust report» then tests measures, the dataset and scores "
        "against one criterion after another."
    ),
)
WORDS: dict[str, Any] = {**FILE, "show_default": False}
"""Of options that name a list of words."""
GroupNames = Annotated[
    list[str] | None,
    typer.Option(
        "--groups",
        metavar="NAME",
        help="Measure these groups of [groups.NAME]; repeatable. Default: all.",
        show_default=False,
    ),
]
Source = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name of what is measured, in the name of the run. Default: the file's or model's.",
        show_default=False,
    ),
]
Year = Annotated[
    int | None,
    typer.Option(
        min=1, max=9999, help="Year that the vectors are of; needs --source.", show_default=False
    ),
]
VectorsFile = Annotated[
    Path, typer.Argument(help="Vectors: .bin, .txt or .vec (each also .gz), or .npz.", **FILE)
]
Model = Annotated[
    str, typer.Argument(help="A name on the Hugging Face hub, or a folder.", show_default=False)
]
Files = Annotated[
    list[Path],
    typer.Argument(
        help="The corpus: .txt with a document on each line, .jsonl (both also .gz) or .parquet.",
        show_default=False,
        **FILE,
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(
        help="The layer to read: 0 for the embeddings, 1 for the first …; default: the last.",
        show_default=False,
    ),
]
Field = Annotated[str, typer.Option(help="The field (JSON) or column (Parquet) that has the text.")]


COUNTS = {"text-automated", "text-human", "probe"}
"""Measures whose strengths are counts; those of no group, or of several, are not in p."""

FACTS = [
    "signed",
    "unit",
    "pairs",
    "alignment",
    "mean",
    "mean_absolute",
    "direct_bias",
    "mac",
    "weat",
]
"""The fields of ``run.json`` of a prior measure that JSON has, too."""


def show_runs(runs: Sequence[tuple["TrustRun", bool]], *, as_json: bool) -> None:
    """Print runs of a measure: a table for each, or all as JSON.

    Args:
        runs: each with whether it was measured now.
        as_json: print JSON and nothing else.
    """
    if as_json:
        rows = [
            {"run": run.name, "folder": str(run.folder), "measured": measured}
            | {name: run.about[name] for name in FACTS if name in run.about}
            | {"biases": [bias.model_dump() for bias in run.biases]}
            for run, measured in runs
        ]
        console.say_json({"runs": rows})
        return
    for run, measured in runs:
        names = run.biases[0].groups if run.biases else ()
        counts = run.measure in COUNTS
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


Window = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1000,
        help="Sentences of a context; default: window in [trust].",
        show_default=False,
    ),
]


@app.command()
def text(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Texts with a document per line (.txt), record (.jsonl) or row (.parquet); the "
            "first two also as .gz.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="People's labels of passages instead of texts: .csv or .jsonl.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    groups: GroupNames = None,
    source: Source = "",
    window: Window = None,
    field: Field = "text",
    language: Language = "",
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="This machine (local) or a Ray cluster (ray).")
    ] = "local",
    workers: Annotated[int, typer.Option(help="Number of processes; 0: one per core.", min=0)] = 0,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure which groups targets are mentioned with in texts, or in people's labels of passages.

    In texts, a context is three consecutive sentences of a document. It counts for a group if it
    has a word of the target and a word of that group only. With --labels, a passage counts for the
    group that most annotators chose. Intervals are over documents, or over passages.

    If the passages are from the texts, give both the same --source: the trust report then compares
    them.
    """
    from curation.steps.trust.text import measure_labels, measure_texts

    opened = open_campaign(campaign)
    if bool(files) == bool(labels):
        raise CurationError(
            "give either files of text or --labels",
            "curation trust text corpus.jsonl.gz, or curation trust text --labels labels.csv",
        )
    run: Any = {"names": groups or (), "source": source, "reporter": console}
    if labels:
        show_runs(measure_labels(opened, labels, **run), as_json=as_json)
        return
    run |= {"window": window, "field": field, "language": language, "engine": engine}
    runs = measure_texts(opened, files or [], workers=workers or None, **run)
    show_runs(runs, as_json=as_json)


@app.command()
def vectors(
    file: VectorsFile,
    groups: GroupNames = None,
    source: Source = "",
    year: Year = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in word embeddings of word2vec, GloVe or numpy.

    The strength of association is the cosine of the mean vectors of the target's words and of the
    group's words. Intervals are over the words of the groups. Words without a vector are left out.
    """
    from curation.steps.trust.vectors import VectorFile, measure_vectors

    names, opened = groups or (), open_campaign(campaign)
    given = VectorFile(opened, file, names, source, year, reporter=console)
    show_runs(measure_vectors(given), as_json=as_json)


@app.command()
def prior(
    file: VectorsFile,
    groups: GroupNames = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            help="Compute this measure; repeatable. Default: all that fit the number of groups, "
            "or caliskan with --x and --y.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        Literal["own", "raw", "unit"],
        typer.Option(
            help="Vectors as in the file (raw), of length 1 (unit), or as the authors of each "
            "measure use them (own)."
        ),
    ] = "own",
    strictness: Annotated[
        float, typer.Option(min=0, max=100, help="The exponent c of direct bias.")
    ] = 1.0,
    x: Annotated[
        Path | None,
        typer.Option("--x", help="Words of WEAT's first target set; needs --y.", **WORDS),
    ] = None,
    y: Annotated[
        Path | None,
        typer.Option("--y", help="Words of WEAT's second target set; needs --x.", **WORDS),
    ] = None,
    source: Source = "",
    year: Year = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure targets by the measures of earlier work: Bolukbasi, Caliskan, Garg, Manzini, RIPA.

    Each is a run of its own. A positive value means that the target is closer to the first group;
    manzini has no such sign. With --x and --y, only caliskan is computed, and its run
    has the test WEAT.
    """
    from curation.steps.trust.vectors import VectorFile, measure_prior

    sets, opened = _target_sets(x, y, measures or ()), open_campaign(campaign)
    more = [word for _, words in sets or () for word in words]
    given = VectorFile(opened, file, groups or (), source, year, more, console)
    runs = measure_prior(
        given, measures=measures or (), scale=scale, strictness=strictness, sets=sets
    )
    if as_json:
        show_runs(runs, as_json=True)
        return
    for name in dict.fromkeys(run.groups for run, _ in runs):
        _show([(run, measured) for run, measured in runs if run.groups == name])


def _target_sets(x: Path | None, y: Path | None, measures: Sequence[str]) -> "TargetSets | None":
    from curation.steps.trust.group_files import read_words
    from curation.steps.trust.runs import source_name
    from curation.steps.trust.vectors import WEAT, TargetSets

    if x is None or y is None:
        if x is y:
            return None
        raise CurationError("WEAT compares two sets of targets", "give both --x and --y")
    if measures and WEAT not in measures:
        raise CurationError(
            f"--x and --y are for WEAT, which is in the run of {WEAT}", f"add --measure {WEAT}"
        )
    return TargetSets((source_name(x), read_words(x)), (source_name(y), read_words(y)))


def _show(runs: Sequence[tuple["TrustRun", bool]]) -> None:
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


def _show_weat(weat: dict[str, Any], names: Sequence[str]) -> None:
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
    file: VectorsFile,
    method: Annotated[
        Literal["hard", "multiclass", "soft"],
        typer.Option(help="hard: two groups. multiclass: hard, any number. soft: a linear map."),
    ],
    groups: Annotated[
        str, typer.Option("--groups", metavar="NAME", help="The groups, [groups.NAME].")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="The new file: .bin, .vec, .txt or .npz.", **FILE),
    ],
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="Measure both files with these groups; repeatable. Default: those of --groups, "
            "whose words show little, since the method was fitted on them.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Words that keep their bias, one on each line.", **WORDS),
    ] = None,
    equalise: Annotated[
        Path | None,
        typer.Option(
            help="Sets of words to make equal, one set on each line. Default: the groups' words at "
            "the same place of their lists.",
            **WORDS,
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100,
            help="Dimensions of the subspace. Default: one less than groups.",
            show_default=False,
        ),
    ] = None,
    weight: Annotated[
        float, typer.Option(min=0, max=1e9, help="soft: the weight λ of bias.")
    ] = 0.2,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write a copy of word vectors with less bias, and show how measures of bias change.

    All vectors get length 1. A file OUT.json beside the new one says how it was made. Both files
    are measured, too, as by «curation trust vectors» and «curation trust prior»: the runs are in
    6-trust/runs/. To compare them in the trust report, name them in mitigation of [trust].
    """
    from curation.steps.trust.debias import debias as run
    from curation.steps.trust.group_files import read_groups, read_sets, read_words

    opened = open_campaign(campaign)
    (chosen,) = read_groups(opened, [groups])
    made = run(
        *(opened, chosen, file, out),
        method=method,
        judges=judges or (),
        keep=read_words(keep) if keep else (),
        equalise=read_sets(equalise, len(chosen.words)) if equalise else None,
        dimensions=dimensions,
        weight=weight,
        reporter=console,
    )
    if as_json:
        files = {"file": str(made.path), "report": str(made.report)}
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
    model: Model,
    files: Files,
    groups: GroupNames = None,
    source: Source = "",
    layer: Layer = None,
    most: Annotated[
        int, typer.Option(min=0, help="Contexts of each word, at random; 0: all, as in the paper.")
    ] = 1_000,
    repeats: Annotated[
        bool,
        typer.Option("--repeats", help="Count repeated contexts, as in the paper; default: once."),
    ] = False,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Sentences of a context.")] = 1,
    language: Language = "",
    field: Field = "text",
    device: model_options.Device = "auto",
    dtype: model_options.Dtype = "auto",
    batch_tokens: model_options.BatchTokens = None,
    revision: model_options.Revision = "",
    trust_remote_code: model_options.Remote = False,
    engine: model_options.EngineOption = EngineName.local,
    workers: model_options.Workers = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in a model's representations of words in a corpus.

    A word's vector is the mean of its states over its contexts in the files: by default over at
    most 1,000 different ones, with --most 0 --repeats over all, as in the paper. The strength of
    association is the cosine of the mean vectors of the target's words and of the group's words.
    Intervals are over documents. If the command is interrupted, run it again: it goes on where it
    stopped.
    """
    from curation.models.states import StatesSpec
    from curation.steps.trust.contextual import measure_contextual

    spec = StatesSpec(
        model, device, dtype, revision or None, trust_remote_code, layer, batch_tokens
    )
    runs = measure_contextual(
        open_campaign(campaign),
        spec,
        files,
        names=groups or (),
        source=source,
        most=most or None,
        repeats=repeats,
        window=window,
        language=language,
        field=field,
        **model_options.options_of_work(engine, workers, device),
        reporter=console,
    )
    show_runs(runs, as_json=as_json)


@app.command()
def probe(
    model: Model,
    files: Files,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Train on people's labels: a table (CSV, .jsonl) with the columns passage, text, "
            "target, group, annotator, submitted_at.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    automatic: Annotated[
        bool,
        typer.Option("--automatic", help="Train on automatic labels of passages of the files."),
    ] = False,
    groups: GroupNames = None,
    source: Source = "",
    per_target: Annotated[
        bool,
        typer.Option("--per-target", help="A probe per target, as in the paper; default: one."),
    ] = False,
    every_mention: Annotated[
        bool,
        typer.Option("--every-mention", help="Read all mentions, as in the paper; default: first."),
    ] = False,
    layer: Layer = None,
    most: Annotated[
        int, typer.Option(min=1, help="Passages of each target, a random sample.")
    ] = 1_000,
    window: Window = None,
    language: Language = "",
    field: Field = "text",
    device: model_options.Device = "auto",
    dtype: model_options.Dtype = "auto",
    batch_tokens: model_options.BatchTokens = None,
    revision: model_options.Revision = "",
    trust_remote_code: model_options.Remote = False,
    engine: model_options.EngineOption = EngineName.local,
    workers: model_options.Workers = None,
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
    """
    from curation.models.states import StatesSpec
    from curation.steps.trust.probe import measure_probe

    if automatic is (labels is not None):
        raise CurationError(
            "the probe needs labels: give either --labels or --automatic",
            "use --labels FILE for people's labels, or --automatic",
        )
    spec = StatesSpec(
        model, device, dtype, revision or None, trust_remote_code, layer, batch_tokens
    )
    runs = measure_probe(
        open_campaign(campaign),
        spec,
        files,
        labels=labels,
        names=groups or (),
        source=source,
        most=most,
        window=window,
        per_target=per_target,
        every_mention=every_mention,
        language=language,
        field=field,
        **model_options.options_of_work(engine, workers, device),
        reporter=console,
    )
    show_runs(runs, as_json=as_json)
    if not as_json:
        rows = [
            [run.groups, name, *(found[key] for key in ("accuracy", "majority", "control"))]
            for run, _ in runs
            for name, found in run.about.get("probes", {}).items()
        ]
        heads = ["groups", "probe of", "accuracy", "commonest label", "shuffled labels"]
        console.table("Accuracy by cross-validation over documents", heads, rows)


app.command("report")(trust_report.report)
