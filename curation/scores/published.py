"""Your runs beside the tables that the StereoSet papers print (``data/published``).

ACL is the 2021 paper, arXiv its first version of 2020. A run stands beside a printed row only
where model, split, kind and domain are the same. The rule need not be the table's: a row says
whether it is, and ``why`` lists the known reasons why the two figures differ.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from curation.files import CurationError
from curation.models.rules import PROFILES, TRAINED_HEADS
from curation.records import KINDS, Cat
from curation.scores.flags import LATEX, flags_of, marked, notes
from curation.scores.groups import ENSEMBLE
from curation.scores.latex import bracket, escape, printed
from curation.scores.printed import Printed, models, targets
from curation.scores.runs import Run, board, scored
from curation.scores.tiers import tier_text
from curation.stats.metrics import ALL, BOTH, METRICS, Ties, results

Head = Literal["own", "trained", ""]  # a next-sentence head; "" where nothing says which

WHY = {
    "rule": "the run was scored by another rule than the table",
    "unknown rule": "nothing says by which rule these predictions were made",
    "mean": "the text says the sum of log p; the printed values equal arXiv's mean per token",
    "head": "the authors' trained next-sentence heads cannot be had any more; yours is another one",
    "own head": "ACL §6.1 trains a head for every model; this run took the model's own",
    "trained head": "arXiv §7.1 takes BERT's own next-sentence head; this run took a trained one",
    "casing": "the paper does not say whether BERT was cased or uncased",
    "classifier": "the authors' sentiment classifier cannot be had",
    "weights": "the weights of the paper's ensemble are not printed",
    "ties": "ties count half; StereoSet's evaluator counts them as lost (--ties official)",
    "part": "the gold file, the run or the tier lacks terms or CATs of this split",
    "misprint": "the printed value contradicts another one (see the note)",
    "not known": "none of the known reasons holds, and the values differ",
}
"""The known reasons why a rerun differs from a printed row, by the code that ``beside`` gives."""


def printed_name(run: Run) -> str | None:
    """The printed name of a run's model, or None.

    A model matches by its label, its hub id with or without the owner, or its printed name; case
    does not matter. An ensemble matches by its members: they are the three of the papers (ACL §7).
    """
    known = models()
    if run.family == ENSEMBLE:
        inside = [str(name).rpartition("/")[0] for name in run.about.get("members", ())]
        members = {_named(name) for name in inside}
        return next((m.name for m in known.values() if m.members and m.members == members), None)
    opened = run.about.get("opened")
    hub = str(opened.get("model") or "") if isinstance(opened, Mapping) else ""
    return _named(run.model) or _named(hub)


def _named(name: str) -> str | None:
    return next((one.name for one in models().values() if name.casefold() in one.names), None)


def by_split(cats: Sequence[Cat], *, split: str = "") -> dict[str, list[Cat]]:
    """The CATs of StereoSet's dev and test set, told by their target terms.

    Args:
        cats: of gold files.
        split: takes all CATs for this split, whatever their terms are called.

    Raises:
        CurationError: a target is not one of the papers' terms, so the split is not known.
    """
    if split:
        return {split: list(cats)}
    known = {
        (one.domain, name.casefold()): one.split
        for one in targets()
        for name in (one.term, *one.also)
        if one.split
    }
    found: dict[str, list[Cat]] = {}
    for cat in cats:
        own = known.get((cat.domain, cat.target.casefold()))
        if own is None:
            raise CurationError(
                f"the target «{cat.target}» ({cat.domain}) of CAT {cat.id} is not one of "
                "StereoSet's terms, so its split is not known",
                "give --split dev or --split test, if this is a version of StereoSet",
            )
        found.setdefault(own, []).append(cat)
    return found


def beside(
    rows: Sequence[Printed],
    cats: Mapping[str, Sequence[Cat]],
    runs: Sequence[Run],
    *,
    whole: Mapping[str, Sequence[Cat]] | None = None,
    ties: Ties = "official",
    skipped: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Each printed row beside each run of the same model, on CATs of the same split and kind.

    A row of a whole split needs CATs of all four domains, a row of both kinds needs both; rows
    that lack them are left out.

    Args:
        rows: of ``choose``.
        cats: by split, as ``by_split`` gives them.
        runs: any runs; those whose model is not printed are passed over.
        whole: the same before CATs of low tiers were left out; None where none were.
        ties: as in ``metrics.comparisons``; StereoSet's evaluator counts ``official``.
        skipped: receives a message for each run without a score for a split's CATs.

    Returns:
        One dict each, in the order of ``rows``: the printed row's fields; ``run``; ``rule`` and
        ``table_rule``; ``same_rule`` (None where either is not known; False also where the rule is
        nsp under another sort of head than the table's); ``figures`` with
        ``{figure: {"printed", "value", "ci", "difference", "inside"}}``, in points, difference is
        value less printed; ``cats``, ``terms``; ``few_terms`` and ``too_wide`` of the cell
        (``metrics.results``); ``flags`` of the run (``flags.flags_of``); ``why``, codes of ``WHY``,
        empty where all three values equal the printed ones to the printed digits, and only there.
    """
    found: dict[tuple[str, str], list[tuple[Run, dict[str, Any], Counter[tuple[str, ...]]]]] = {}
    wanted = {row.split for row in rows}
    for split in cats:
        here = [run for run in runs if printed_name(run) and split in wanted]
        there = [run for run in here if any(scored(cats[split], run.scores))]
        for run in here:
            if run not in there:
                skipped(f"{run.where}: no scores for these {len(cats[split])} {split} CATs")
        if not there:
            continue
        laid = board(cats[split], there, ties=ties)
        sizes = _sizes((whole or cats)[split])
        for number, run in enumerate(laid.runs):
            result = results(laid.table(number), model=run.model)
            name = str(printed_name(run))
            found.setdefault((split, name), []).append((run, result, sizes))
    pairs = []
    for row in rows:
        for run, result, sizes in found.get((row.split, row.model), ()):
            cell = _cell(row, result)
            if cell is not None:
                full = cell["cats"] == sizes[row.kind, row.domain, row.target]
                flags = flags_of(result, run.about)
                pairs.append({**_pair(row, run, cell, ties, full=full), "flags": flags})
    return pairs


def _sizes(cats: Sequence[Cat]) -> Counter[tuple[str, ...]]:
    """How many CATs there are, by kind, domain and target."""
    sizes: Counter[tuple[str, ...]] = Counter()
    for cat in cats:
        for kind in (cat.kind, BOTH):
            places = [(ALL, ""), (cat.domain, ""), (cat.domain, cat.target)]
            sizes.update((kind, *place) for place in places)
    return sizes


def _cell(row: Printed, result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The cell of the results that a printed row stands for, or None."""
    if row.kind == BOTH:
        part: Mapping[str, Any] | None = result if len(result["kinds"]) == len(KINDS) else None
    else:
        part = result["kinds"].get(row.kind)
    if part is None:
        return None
    if row.target:
        cell = part["terms"].get(f"{row.domain}/{row.target}")
    elif row.domain == ALL:
        whole = {one.domain for one in targets()} <= part["domains"].keys()
        cell = part["overall"] if whole else None
    else:
        cell = part["domains"].get(row.domain)
    return dict(cell) if cell else None


def _pair(
    row: Printed, run: Run, cell: dict[str, Any], ties: Ties, *, full: bool
) -> dict[str, Any]:
    kinds = KINDS if row.kind == BOTH else (row.kind,)
    own = [run.rules.get(kind, "") for kind in kinds] if run.rules else []
    of_table = PROFILES.get(row.profile, {}).get(models()[row.model].family, {})  # type: ignore[call-overload]
    table = [of_table[kind] for kind in kinds] if of_table else []
    same = (own == table and not run.variant) if own and table else None
    if run.profile and row.profile:  # what a file of predictions was declared to be under
        same = run.profile == row.profile
    head = _other_head(row, run) if "nsp" in own else ""
    figures = {}
    for name in METRICS:
        value, printed, bounds = cell[name], getattr(row, name), cell[f"{name}_ci"]
        inside = None
        if printed is not None and bounds is not None:
            half = 0.5 * 10**-row.digits
            inside = bounds[0] - half <= printed <= bounds[1] + half
        figures[name] = {
            "printed": printed,
            "value": value,
            "ci": bounds,
            "difference": None if printed is None else value - printed,
            "inside": inside,
        }
    equal = all(
        one["printed"] is None or round(one["value"], row.digits) == one["printed"]
        for one in figures.values()
    )
    return {
        **row._asdict(),
        "run": run.name,
        "rule": _said(own, run.variant, head) or run.profile or run.way,
        "table_rule": _said(table),
        "same_rule": False if head else same,
        "figures": figures,
        "cats": cell["cats"],
        "terms": cell["terms"],
        "few_terms": cell.get("few_terms", False),
        "too_wide": cell["too_wide"],
        "why": []
        if equal
        else _why(row, cell, ties, same=same, head=head, table=table, full=full) or ["not known"],
    }


def _other_head(row: Printed, run: Run) -> Head:
    """Which sort of next-sentence head a run was read with, if it is not the table's."""
    about: Any = run.about
    for key in ("opened", "nsp", "next_sentence", "head"):
        about = about.get(key) if isinstance(about, Mapping) else None
    found = "own" if run.about.get("own_head") else about
    if found == "own" and row.profile in TRAINED_HEADS:
        return "own"
    return "trained" if found == "trained" and _own_head_is_the_tables(row) else ""


def _own_head_is_the_tables(row: Printed) -> bool:
    """Whether it is BERT under arXiv §7.1; all other heads are trained (ACL §6.1)."""
    return row.model.startswith("BERT") and row.profile == "arxiv"


def _said(rules: Sequence[str], variant: str = "", head: Head = "") -> str:
    """Rules as tables show them; behind nsp which head it was, if that is not the table's."""
    texts = [
        f"{rule}{variant and f'+{variant}'}{f' ({head} head)' if head and rule == 'nsp' else ''}"
        for rule in rules
    ]
    return " / ".join(dict.fromkeys(texts))


def _why(
    row: Printed,
    cell: Mapping[str, Any],
    ties: Ties,
    *,
    same: bool | None,
    head: Head,
    table: Sequence[str],
    full: bool,
) -> list[str]:
    """The codes of ``WHY`` that hold for a pair; ``same`` is of the rule, whatever its head."""
    model = models()[row.model]
    expected = sum(one.split == row.split and row.domain in (ALL, one.domain) for one in targets())
    holds = {
        "rule": same is False,
        "unknown rule": same is None and bool(table),
        "mean": model.family == "causal"
        and row.source.startswith("ACL")
        and row.kind != "intersentence",
        "head": "nsp" in table and head != "own" and not _own_head_is_the_tables(row),
        "own head": head == "own",
        "trained head": head == "trained",
        "casing": model.casing == "not printed",
        "classifier": row.model == "SentimentLM",
        "weights": bool(model.members),
        "ties": ties != "official" and cell["ties"] > 0,
        "part": not full or (not row.target and cell["terms"] < expected),
        "misprint": bool(row.note),
    }
    return [code for code in WHY if holds.get(code)]


_PLACE = ("source", "split", "kind", "domain", "target", "model")


def long_rows(rows: Sequence[Mapping[str, Any]], *, tier: int | None = None) -> Iterator[list[Any]]:
    """Rows of ``beside``, or printed rows alone, as one long table with a row per figure.

    Args:
        rows: of ``beside``, or printed rows alone.
        tier: the least tier of the runs' CATs, or None.

    Yields:
        The column names, then the rows. Values are in points and unrounded; an empty cell means
        that there is no such value. ``too_wide`` is of the row's figure.
    """
    run = ("run", "rule", "table_rule", "same_rule", "cats", "terms", "few_terms")
    names = ["flags", "tier", "figure", "printed", "value", "low", "high", "too_wide"]
    yield [*_PLACE, *run, *names, "difference", "why", "note"]
    for row in rows:
        for name in METRICS:
            figure = row["figures"][name] if "figures" in row else {"printed": row[name]}
            yield [
                *(row[key] for key in _PLACE),
                *(row.get(key) for key in run),
                *(" ".join(row.get("flags", ())), tier),
                *(name, figure["printed"], figure.get("value")),
                *(figure.get("ci") or (None, None)),
                name in row["too_wide"] if "figures" in row else None,
                *(figure.get("difference"), "; ".join(row.get("why", ())), row["note"]),
            ]


def rule_shown(row: Mapping[str, Any]) -> str:
    """The rule of a row of ``beside`` as tables show it: «other:» before one not the table's."""
    return f"other: {row['rule']}" if row["same_rule"] is False else str(row["rule"])


def latex(
    rows: Sequence[Mapping[str, Any]],
    *,
    ties: Ties = "official",
    tier: int | None = None,
    intervals: bool = False,
) -> str:
    r"""A booktabs table of printed rows, with the run's values beside where there are runs.

    Args:
        rows: of ``beside``, or printed rows alone.
        ties: how ties count in the runs, for the caption.
        tier: the least tier of the runs' CATs, for the caption.
        intervals: whether each value's interval stands below it.

    Returns:
        A ``longtable`` that needs ``\usepackage{booktabs,longtable}``. Its caption says what the
        marks mean that it has.
    """
    runs = any("figures" in row for row in rows)
    heads = ["Table", "Split", "Kind", "Domain", "Model", *(["Run"] if runs else [])]
    heads += [
        f"{name}{extra}" for name in METRICS for extra in ([" printed", ""] if runs else [""])
    ]
    columns = "l" * (5 + runs) + "r" * (6 if runs else 3)
    caption = "lms, ss and icat as the StereoSet papers print them."
    if runs:
        caption = _caption(rows, ties, tier, intervals=intervals)
    head = [r"\toprule", rf"{' & '.join(heads)} \\", r"\midrule"]
    lines = [
        "% needs \\usepackage{booktabs,longtable}; non-ASCII letters need UTF-8",
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{caption}}}\label{{tab:published}} \\",
        *(*head, r"\endfirsthead"),
        *(*head, r"\endhead"),
    ]
    for row in rows:
        domain = escape(row["target"] or row["domain"]) + ("*" if row.get("few_terms") else "")
        texts = [*(escape(row[key]) for key in ("source", "split", "kind")), domain]
        texts.append(marked(escape(row["model"]), row.get("flags", ()), marks=LATEX))
        below = [""] * (len(texts) + runs)
        if runs:
            texts.append(escape(f"{row['run']} ({rule_shown(row)})"))
        for name in METRICS:
            texts.append("--" if row[name] is None else f"{row[name]:.{row['digits']}f}")
            if runs:
                texts.append(printed(row["figures"][name]["value"]))
                wide = _WIDE if name in row["too_wide"] else ""
                below += ["", bracket(row["figures"][name]["ci"]) + wide]
        lines.append(rf"{' & '.join(texts)} \\")
        if runs and intervals:
            lines.append(rf"{' & '.join(below)} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


_WIDE = r"\textasciitilde{}"


def _caption(
    rows: Sequence[Mapping[str, Any]], ties: Ties, tier: int | None, *, intervals: bool
) -> str:
    how = f"ties {ties}" + (f"; {tier_text(tier)}" if tier else "")
    texts = [f"lms, ss and icat as the StereoSet papers print them, and of runs beside ({how})."]
    if any(row["same_rule"] is False for row in rows):
        texts.append("other: not by the table's rule.")
    if any(row["few_terms"] for row in rows):
        texts.append("*: fewer than five terms.")
    if intervals and any(row["too_wide"] for row in rows):
        texts.append(f"{_WIDE}: an interval that covers more than 98\\,\\%.")
    found = notes(row["flags"] for row in rows)
    texts += [f"{LATEX[flag]}: {escape(meaning)}." for flag, meaning in found.items()]
    return " ".join(texts)
