"""``curation scores``: lms, ss, icat of models and baselines."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from typer.core import TyperCommand

from curation.campaign.source import gold_source, open_source
from curation.files import CurationError
from curation.kinds import Kind
from curation.records import Fields, SplitName
from curation.scores.commands import models
from curation.scores.flags import marked
from curation.terminal import console
from curation.terminal.options import (
    Count,
    JsonFile,
    Language,
    MaybeCount,
    Natural,
    Split,
    TieRule,
    Where,
    command_group,
    write_csv,
    write_json,
    write_text,
)
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.scores.ensemble import FittedEnsemble
    from curation.scores.published import Printed


def compare(
    campaign: Where = Path(),
    gold: list[Path] | None = None,
    scores: Path = Path("scores"),
    predictions: list[str] | None = None,
    lower_is_likelier: list[str] | None = None,
    partial: bool = False,
    split: Split | None = None,
    kind: Kind | None = None,
    original_targets: bool = False,
    profile: str = "",
    rule: str = "",
    tier: MaybeCount = None,
    ties: TieRule = "half",
    about: Path | None = None,
    terms_of: str = "",
    terms: Count = 3,
    power: float | None = None,
    csv_file: Annotated[Path | None, typer.Option("--csv")] = None,
    latex: Path | None = None,
    intervals: bool = False,
    json_file: JsonFile = None,
) -> None:
    """Compare models: lms, ss, icat with intervals, tests of differences, terms, kinds, rules.

    Models are ranked within a profile: each profile has its own tables, and each row names its
    rules. Models under different profiles are never ranked together, and neither are predictions
    whose rule is not declared. Differences are tested with paired tests over target terms, with
    Holm's correction over the pairs of a profile.

    Options:
        predictions (NAME[@RULES]=FILE): Also compare a model's predictions file; @RULES declares
            the profile or rule it was scored by. Repeatable.
        partial: Accept predictions without scores for some CATs; all models are then compared on
            the CATs that all of them have.
        profile: Only the models scored under this profile.
        rule: Only the models scored by this rule; INTRA_INTER names a rule for each kind.
        about (FILE): A CSV file with the columns model, parameters, corpus_gb, architecture: sizes
            to show and to correlate with.
        terms_of (MODEL): Also show this model's domains and its most and least stereotyped terms;
            use MODEL/RULE for one of its runs.
        terms (N): Show the N most and N least stereotyped terms per domain.
        power (D): Show how many terms you need to detect a difference of D points.
        csv_file (FILE): Also write all values to one long table.
        latex (FILE): Also write the tables of models as LaTeX.
    """
    from curation.scores import tables
    from curation.scores.commands.tables import show_comparison
    from curation.scores.comparing import compare_runs

    source = open_source(campaign, gold=gold, scores=scores, reporter=console)
    source = source.by_original(console) if original_targets else source
    source = source.in_split(split).of_kind(kind)
    report = compare_runs(
        source.in_tier(tier, console),
        predictions=predictions or [],
        lower_is_likelier=lower_is_likelier or [],
        partial=partial,
        profile=profile,
        rule=rule,
        tier=tier,
        ties=ties,
        sizes=about,
        terms_of=terms_of,
        terms=terms,
        power=power,
        reporter=console,
    )
    if csv_file:
        runs = [*report.runs, *tables.as_runs(report.baselines)]
        rows = tables.tidy(runs, split=report.split, tier=tier, original_targets=original_targets)
        write_csv(csv_file, [tables.columns(runs), *rows])
    if latex:
        write_text(latex, tables.latex_report(report, intervals=intervals))
    if json_file:
        write_json(json_file, tables.compact(report), indent=False)
    show_comparison(report, terms=terms, all_tables=bool(profile or rule))


def ensemble(
    members: list[str],
    campaign: Where = Path(),
    gold: list[Path] | None = None,
    dev: list[Path] | None = None,
    scores: Path = Path("scores"),
    objective: Literal["lms", "icat"] = "lms",
    ties: TieRule = "half",
    name: str = "ensemble",
    seed: Natural = 1,
) -> None:
    """Fit an ensemble on dev: a weighted sum of models' standardised scores.

    The weights are 0 or more and sum to 1. By default they maximise lms on the dev CATs, because
    the paper's ensemble is the strongest language model (ACL §7). The values on dev are too high,
    because the weights were fitted there: compare the ensemble on test. The ensemble is saved
    beside the models, and «curation scores compare» shows it as a model.

    Options:
        members (MEMBER…): Two or more runs, as MODEL/RULE or MODEL/RULE+VARIANT.
        dev (FILE): With --gold: a gold file to fit the weights on; repeatable.
        objective: What the weights maximise on the dev CATs, both kinds pooled: lms (ACL §7) or
            icat.
        name: The name of the ensemble.
        seed: Seed of the search, with four members or more.
    """
    from curation.scores.ensemble import ensemble_splits, fit_ensemble

    if gold and not dev:
        raise CurationError("--gold needs --dev", "name the gold file to fit the weights on")
    if dev and not gold:
        raise CurationError(
            "--dev needs --gold", "leave --dev out: a campaign has its own dev CATs"
        )
    source = open_source(campaign, gold=gold, scores=scores, reporter=console)
    splits = ensemble_splits(source, dev, reporter=console)
    with source.campaign.lock() if source.campaign else nullcontext():
        fitted = fit_ensemble(
            members,
            splits,
            source.scores,
            name=name,
            objective=objective,
            ties=ties,
            seed=seed,
            reporter=console,
        )
        _show_ensemble(fitted)


def _show_ensemble(fitted: "FittedEnsemble") -> None:
    """Print the weights, the results by split, and what the marks mean."""
    from curation.scores.commands import tables

    about = fitted.about
    name, dev = about["model"], about["dev"]
    rows: list[Sequence[Any]] = [
        [marked(member, fitted.flags[member]), weight, dev["members"][member]]
        for member, weight in fitted.weights.items()
    ]
    rows += [["even weights", None, dev["even_weights"]], [name, None, dev["ensemble"]]]
    heads = ["member", "weight", f"{about['objective']} on dev"]
    console.table(f"{name}, fitted on {amount(dev['cats'], 'dev CAT')}", heads, rows)
    kinds = {kind for result in fitted.results.values() for kind in result["kinds"]}
    title = f"{marked(name, fitted.flags[name])}, {tables.kinds_text(kinds)}"
    cells = [([split], result["overall"]) for split, result in fitted.results.items()]
    tables.show_cells(title, ["CATs of"], cells)
    tables.show_notes(result["overall"] for result in fitted.results.values())
    tables.show_marks(fitted.flags.values())
    console.say(
        f"Saved to {fitted.folder}. The values on dev are too high: the weights were fitted there."
    )


def published(
    gold: list[Path] | None = None,
    scores: Path | None = None,
    predictions: list[str] | None = None,
    lower_is_likelier: list[str] | None = None,
    table: list[str] | None = None,
    split: SplitName | None = None,
    tier: MaybeCount = None,
    ties: TieRule = "official",
    csv_file: Annotated[Path | None, typer.Option("--csv")] = None,
    latex: Path | None = None,
    intervals: bool = False,
    json_file: JsonFile = None,
) -> None:
    """Show the tables that the StereoSet papers print, beside your own runs on StereoSet.

    Without runs, the command lists the printed tables, and shows those that --table names. With
    --gold and --scores or --predictions, it shows each run beside the printed rows of the same
    model, split, kind and domain. For each pair it shows whether the run used the table's
    rule, and the known reasons for a difference.

    Options:
        gold (FILE): A gold file of StereoSet that your runs scored; repeatable.
        scores (DIR): Your runs: the folder of MODEL/RULE/.
        predictions (NAME[@RULES]=FILE): Also compare a model's predictions file; @RULES declares
            the profile or rule it was scored by. Repeatable.
        table: Only this table, such as «acl 4» or «arxiv 7», or «all»; repeatable.
        split: dev or test: the split of the gold files. Default: as their target terms show.
        ties: official: a tie counts as lost, as in StereoSet. half: it counts as half won.
        csv_file (FILE): Also write the rows to a long table.
    """
    from curation.scores import published
    from curation.scores.results import beside_printed

    rows = published.choose(table or [])
    if scores or predictions:
        if not gold:
            raise CurationError(
                "your runs need a gold file", "name StereoSet's dev.json with --gold"
            )
        report = beside_printed(
            rows,
            gold_source(gold, reporter=console),
            scores=scores,
            predictions=predictions or [],
            lower_is_likelier=lower_is_likelier or [],
            split=split or "",
            tier=tier,
            ties=ties,
            reporter=console,
        )
        _show_published(report["rows"], tier)
    else:
        if gold:
            console.warn(
                "no runs are given: name them with --scores DIR or --predictions NAME=FILE"
            )
        rows = [row for row in rows if split in (None, row.split)]
        report = {"rows": [row._asdict() for row in rows]}
        if table:
            _list(rows)
        else:
            _list_tables(rows)
    write_csv(csv_file, published.long_rows(report["rows"], tier=tier))
    if latex:
        text = published.latex(report["rows"], ties=ties, tier=tier, intervals=intervals)
        write_text(latex, text)
    write_json(json_file, report)


def _list_tables(rows: "Sequence[Printed]") -> None:
    """Print the list of tables, and how to show one."""
    from curation.scores.published import short_name

    cells = []
    for source, split in dict.fromkeys((row.source, row.split) for row in rows):
        own = [row for row in rows if (row.source, row.split) == (source, split)]
        profile = next((row.profile for row in own if row.profile), "")
        cells.append([source, short_name(source), split, profile, len(own)])
    console.table("Printed tables", ["source", "--table", "split", "profile", "rows"], cells)
    console.say('Show one with «--table "acl 4"», or all with «--table all».')


def _list(rows: "Sequence[Printed]") -> None:
    """Print the rows of the printed tables."""
    from curation.stats.metrics import METRICS

    for source in dict.fromkeys(row.source for row in rows):
        own = [row for row in rows if row.source == source]
        heads = ["model", "split", "kind", "domain", "target", *METRICS]
        cells = [
            [
                row.model,
                row.split,
                row.kind,
                row.domain,
                row.target,
                *(_printed(row.values[metric], row.digits) for metric in METRICS),
                " or ".join(row.numbers),
                row.basis,
                row.note,
            ]
            for row in own
        ]
        profile = next((row.profile for row in own if row.profile), "")
        title = f"{source}, profile {profile}"
        console.table(title, [*heads, "numbers by", "known from", "note"], cells)
    console.say("profile: the paper's text. numbers by: the profile that the numbers follow.")


def _printed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _show_published(pairs: Sequence[Fields], tier: int | None) -> None:
    """Print each printed row beside the runs, and the meaning of marks and reasons."""
    from curation.catsets.stereoset import tier_text
    from curation.scores.commands import tables
    from curation.scores.published import WHY

    if not pairs:
        console.warn(
            "no printed row matches the model, split, kind and domain of these runs; "
            "«curation scores published --table all» lists the printed rows"
        )
        return
    columns = ("source", "split", "kind")
    for table in dict.fromkeys(tuple(pair[key] for key in columns) for pair in pairs):
        own = [pair for pair in pairs if tuple(pair[key] for key in columns) == table]
        source, split, kind = table
        title = [source, split, "both kinds" if kind == "both" else kind, tier_text(tier)]
        _show_table(", ".join(filter(None, title)), own)
    console.say("Δ: yours minus printed")
    console.say("inside: the printed value, as rounded, is in the interval of your value")
    tables.show_notes(pairs)
    tables.show_marks(pair["flags"] for pair in pairs)
    for text in dict.fromkeys(f"{p['run']}: {p['other_head']}" for p in pairs if p["other_head"]):
        console.say(text)
    tables.show_turned(pairs)
    codes = {code for pair in pairs for code in pair["why"]}
    for code, meaning in WHY.items():
        if code in codes:
            console.say(f"{code}: {meaning}")


def _show_table(title: str, pairs: Sequence[Fields]) -> None:
    from curation.scores.published import rule_shown

    runs = _runs_shown(pairs)
    named = any(runs.values())
    cells = []
    for pair in pairs:
        domain = (pair["target"] or pair["domain"]) + ("*" if pair["few_terms"] else "")
        first = [marked(pair["model"], pair["flags"]), domain]
        first += [*([runs[pair["run"]]] if named else []), rule_shown(pair)]
        for metric, value in pair["figures"].items():
            difference, ends = value["difference"], value["ci"]
            cells.append(
                [
                    *first,
                    metric,
                    _printed(value["printed"], pair["digits"]),
                    value["value"],
                    f"{console.show(ends)}~" if metric in pair["too_wide"] else ends,
                    None if difference is None else round(difference, 2) + 0.0,  # no -0.00
                    value["inside"],
                    ", ".join(pair["why"]),
                ]
            )
    heads = ["model", "domain", *(["run"] if named else []), "rule", "", "printed", "yours"]
    console.table(title, [*heads, "95 %", "Δ", "inside", "why"], cells)


def _runs_shown(pairs: Sequence[Fields]) -> dict[str, str]:
    """Short names of runs in a table, which distinguish runs of one model and rule."""
    keys = {pair["run"]: (pair["model"], pair["rule"]) for pair in pairs}
    labels = {run: run.rpartition("/")[0].rpartition("/")[2] for run in keys}
    for names in (dict.fromkeys(keys, ""), labels):
        if len({(*keys[run], name) for run, name in names.items()}) == len(keys):
            return names
    return {run: run for run in keys}


app = command_group()
LowerKind = Literal["both", "intrasentence", "intersentence"]


class OptionalKind(TyperCommand):
    """A command in which --lower-is-likelier may have no KIND, and then means both kinds."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with the kind that is meant."""
        kinds = [[kind] for kind in get_args(LowerKind)]
        for n, word in enumerate(args):
            if word == "--lower-is-likelier" and args[n + 1 : n + 2] not in kinds:
                args[n] = f"{word}=both"
        return super().parse_args(ctx, args)


@app.command("predictions", cls=OptionalKind)
def predictions(
    *,
    gold: list[Path],
    predictions: Path,
    kind: Kind | None = None,
    lower_is_likelier: LowerKind | None = None,
    partial: bool = False,
    original_targets: bool = False,
    tier: MaybeCount = None,
    ties: TieRule = "half",
    model: str = "",
    json_file: JsonFile = None,
) -> None:
    """Score a file of predictions: lms, ss, icat by kind, domain, term and overall.

    The file is {"intrasentence": [{"id", "score"}], "intersentence": [...]}, JSON Lines with id and
    score, or a CSV table with these columns. A higher score means likelier. Intervals are 95 %
    intervals over target terms.

    Options:
        gold (FILE): A dataset like StereoSet with gold labels, or a mapping file; repeatable.
        predictions (FILE): A model's score of each sentence, by id.
        lower_is_likelier ([KIND]): The scores, or those of this kind of CAT, are perplexities or
            losses: change their sign.
        partial: Leave out CATs if a sentence has no score, or one that is not a finite number.
        model: The model's name; default: taken from the file's name.
    """
    from curation.scores.commands.tables import show_results
    from curation.scores.models import warn_before_scoring
    from curation.scores.results import score_predictions

    source = gold_source(gold, reporter=console)
    warn_before_scoring(source.of_kind(kind), console)
    result = score_predictions(
        predictions,
        source.by_original(console) if original_targets else source,
        kind=kind,
        tier=tier,
        ties=ties,
        lower_is_likelier=lower_is_likelier == "both" or lower_is_likelier or False,
        partial=partial,
        model=model,
        reporter=console,
    )
    write_json(json_file, result)
    show_results(result)


@app.command("baselines")
def baselines(
    gold: list[Path] | None = None,
    campaign: Where = Path(),
    split: Split | None = None,
    language: Language = "",
    original_targets: bool = False,
    tier: MaybeCount = None,
    ties: TieRule = "half",
    sentiment: Path | None = None,
    latex: Path | None = None,
    intervals: bool = False,
    json_file: JsonFile = None,
) -> None:
    """Show what baselines score: ideal, stereotyped, random, and rules that use the surface only.

    IdealLM, StereotypedLM and RandomLM are computed. The other baselines understand nothing. They
    use only how frequent the words are, how long the sentence is, its place in the file, how much
    it shares with its context, and how negative it sounds. If one of these beats chance, a warning
    is printed, and a release should report it.

    Options:
        sentiment (FILE): A predictions file with a classifier's sentiment of each sentence, higher
            being more positive. Default: the scores of «measures sentiment» if the campaign has a
            classifier, otherwise VADER's, for English.
    """
    from curation.scores.commands.tables import show_baselines
    from curation.scores.models import warn_before_scoring
    from curation.scores.results import compute_baselines
    from curation.scores.tables import latex_baselines

    source = open_source(campaign, gold=gold, language=language, reporter=console)
    source.warn_of_language(console)
    warn_before_scoring(source.in_split(split), console)
    source = source.by_original(console) if original_targets else source
    source = source.in_split(split).in_tier(tier, console)
    results = compute_baselines(source, tier=tier, ties=ties, sentiment=sentiment, reporter=console)
    if latex:
        text, left_out = latex_baselines(
            results,
            split=source.split,
            tier=tier,
            ties=ties,
            intervals=intervals,
            original_targets=original_targets,
        )
        write_text(latex, text)
        if left_out:
            console.note(
                "These are not in the LaTeX table because they score one kind only: "
                f"{', '.join(left_out)}"
            )
    write_json(json_file, results)
    show_baselines(results)


app.command("models")(models.models)
app.command("rules")(models.rules)
app.command("prompts")(models.prompts)
app.command("train-nsp")(models.train_nsp)
app.command("compare")(compare)
app.command("ensemble")(ensemble)
app.command("published")(published)
