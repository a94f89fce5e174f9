"""The tables that the StereoSet papers print (``data/published``), and your runs beside them."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, cast

from curation.files import CurationError, read_text, shipped
from curation.formats.toml_files import shipped_table
from curation.kinds import KINDS, MetricName
from curation.models.rules import OWN_HEADS, PROFILES, TRAINED_HEADS
from curation.records import Cat, Fields
from curation.scores.boards import board
from curation.scores.flags import LATEX, flags_of, marked, notes
from curation.scores.run_folder import ENSEMBLE
from curation.scores.runs import Run
from curation.scores.tables import WIDE, bracket, escape, printed, ties_and_tier
from curation.stats.metrics import ALL, BOTH, METRICS, Ties, list_metrics, results
from curation.text.wording import amount


class Printed(NamedTuple):
    """One printed row: the values of a model.

    ``profile`` names the profile with the rules of the paper's text, "" for baselines. ``numbers``
    names the profiles by whose intrasentence rule the printed numbers may have been made, and
    ``basis`` says how this is known: the authors' «files» of predictions give the values; it is
    inferred from «dev rows», or from «arXiv rows» that are equal; or only the «text» says it.
    ``kind`` is a kind or ``both``, ``domain`` a domain or ``all``. ``target`` is "" for rows of
    more than one term.
    ``lms`` is None if the paper prints a dash. ``digits`` is how many decimals are printed.
    """

    source: str
    profile: str
    numbers: tuple[str, ...]
    basis: str
    split: str
    kind: str
    domain: str
    target: str
    model: str
    lms: float | None
    ss: float
    icat: float
    digits: int
    note: str

    @property
    def values(self) -> dict[MetricName, float | None]:
        """The printed value of each metric."""
        return {name: getattr(self, name) for name in METRICS}


class Model(NamedTuple):
    """A printed model: all its names in lower case, its family, and an ensemble's members."""

    name: str
    names: frozenset[str]
    family: str
    members: frozenset[str]
    casing: str


class Target(NamedTuple):
    """A target term as arXiv Table 9 spells it.

    ``also`` are the spellings of ACL Table 10 or of the data. ``agreement`` is that of ACL Table
    10. ``split`` is "" for terms that are not in the data.
    """

    domain: str
    term: str
    also: tuple[str, ...]
    agreement: float
    split: str


def _rows(name: str) -> list[dict[str, str]]:
    path = shipped("data", "published", name)
    return list(csv.DictReader(io.StringIO(read_text(path), newline="")))


def _list(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(";")) if cell else ()


@cache
def tables() -> tuple[Printed, ...]:
    """All printed rows: ACL Tables 4 to 8 and arXiv Tables 4 to 8, in their order."""
    return tuple(
        Printed(
            **cast("Any", row)
            | {"numbers": _list(row["numbers"]), "digits": len(row["icat"].partition(".")[2])}
            | {metric: float(row[metric]) if row[metric] else None for metric in METRICS}
        )
        for row in _rows("tables.csv")
    )


@cache
def printed_kinds() -> set[str]:
    """The kinds of CATs of the printed tables; rows of both kinds are of all of them."""
    return {row.kind for row in tables()} - {BOTH}


@cache
def models() -> dict[str, Model]:
    """The printed models by printed name."""
    by_name = {}
    for row in _rows("models.csv"):
        hub = _list(row["hub"])
        short = (name.rpartition("/")[2] for name in hub)
        names = (row["model"], *_list(row["also"]), *hub, *short)
        by_name[row["model"]] = Model(
            row["model"],
            frozenset(name.casefold() for name in names),
            row["family"],
            frozenset(_list(row["members"])),
            row["casing"],
        )
    return by_name


@cache
def targets() -> tuple[Target, ...]:
    """The papers' target terms (arXiv Table 9, ACL Table 10)."""
    return tuple(
        Target(
            row["domain"], row["term"], _list(row["also"]), float(row["agreement"]), row["split"]
        )
        for row in _rows("terms.csv")
    )


def choose(wanted: Sequence[str]) -> list[Printed]:
    """The rows of some tables; all rows if no table is named.

    Args:
        wanted: names such as ``acl 4`` or ``arXiv Table 7``, or ``all``; case does not matter.

    Raises:
        CurationError: there is no such table; lists the tables.
    """

    def key(text: str) -> tuple[str, str]:
        words = text.replace(",", " ").casefold().split()
        return (words[0], words[-1]) if words else ("", "")

    there = {key(row.source): row.source for row in tables()}
    every = key("all")
    for name in wanted:
        if key(name) not in {*there, every}:
            raise CurationError(
                f"there is no table «{name}»", f"use one of: {', '.join(there.values())}, all"
            )
    keys = {key(name) for name in wanted} or {every}
    return [row for row in tables() if {every, key(row.source)} & keys]


def short_name(source: str) -> str:
    """A table's name in the short form that ``choose`` accepts.

    >>> short_name("arXiv 2020, Table 7")
    'arxiv 7'
    """
    words = source.casefold().split()
    return f"{words[0]} {words[-1]}"


class RowRules(NamedTuple):
    """A run's rules beside those of a printed row.

    Attributes:
        own: the run's rules, of each kind; empty if they are not known.
        table: the rules that the numbers may follow, of each kind; empty for baselines and
            ensembles.
        same: whether the run's are among them; None if either is not known.
        by_text: whether the run has the rules of the paper's text.
    """

    own: list[str]
    table: list[list[str]]
    same: bool | None
    by_text: bool


def row_rules(row: Printed, run: Run, kinds: Sequence[str]) -> RowRules:
    """A run's rules beside those of a printed row, for the kinds of the row."""
    own = [run.rules.get(kind, "") for kind in kinds] if run.rules else []
    text = _rules_of(row.profile, row)
    declared = _rules_of(run.profile, row) if run.profile else {}
    mine = [declared[kind] for kind in kinds] if declared else own
    table = []
    for profile in row.numbers if text else ():
        fits = text | {"intrasentence": _rules_of(profile, row)["intrasentence"]}
        table.append([fits[kind] for kind in kinds])
    same = (mine in table and not run.variant) if mine and table else None
    if run.profile and row.profile and not table:  # an ensemble
        same = run.profile in row.numbers
    by_text = bool(text) and not run.variant and mine == [text[kind] for kind in kinds]
    return RowRules(own, table, same, by_text)


def _rules_of(profile: str, row: Printed) -> dict[str, str]:
    """A profile's rules by kind for the model of a row; empty for baselines and ensembles.

    If the profile has none for it (``code`` for XLNet), they are the text's, with the name of the
    profile in place of the intrasentence rule.
    """
    family: Any = models()[row.model].family
    text = PROFILES.get(row.profile, {}).get(family, {})
    own = PROFILES.get(profile, {}).get(family) or {**text, "intrasentence": profile}
    return {str(kind): rule for kind, rule in own.items()} if text else {}


def table_rule(rules: RowRules) -> str:
    """The rules that the numbers follow, as tables show them.

    >>> table_rule(RowRules([], [["ll-arxiv", "nsp"], ["ll-code", "nsp"]], None, False))
    'll-arxiv or ll-code / nsp'
    """
    kinds = zip(*rules.table, strict=True)
    return " / ".join(dict.fromkeys(" or ".join(dict.fromkeys(kind)) for kind in kinds))


Head = Literal["own", "trained", ""]  # a next-sentence head; "" if it is not known which

WHY = shipped_table("published", "why.toml")
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
    return next((m.name for m in models().values() if name.casefold() in m.names), None)


def by_split(cats: Sequence[Cat], *, split: str = "") -> dict[str, list[Cat]]:
    """The CATs of StereoSet's dev and test set, found from their target terms.

    Args:
        cats: of gold files.
        split: assign all CATs to this split, whatever their terms are.

    Raises:
        CurationError: a target is not one of the papers' terms, so the split is not known.
    """
    if split:
        return {split: list(cats)}
    known = {
        (target.domain, name.casefold()): target.split
        for target in targets()
        for name in (target.term, *target.also)
        if target.split
    }
    splits: dict[str, list[Cat]] = {}
    for cat in cats:
        own = known.get((cat.domain, cat.target.casefold()))
        if own is None:
            raise CurationError(
                f"the target «{cat.target}» ({cat.domain}) of CAT {cat.id} is not one of "
                "StereoSet's terms, so its split is not known",
                "if this is a version of StereoSet, give --split dev or --split test",
            )
        splits.setdefault(own, []).append(cat)
    return splits


def beside(
    rows: Sequence[Printed],
    cats: Mapping[str, Sequence[Cat]],
    runs: Sequence[Run],
    *,
    whole: Mapping[str, Sequence[Cat]] | None = None,
    ties: Ties = "official",
    older: Collection[str] = (),
    skipped: Callable[[str], None] = lambda _: None,
) -> list[Fields]:
    """Each printed row beside each run of the same model, on CATs of the same split and kind.

    A row of a whole split needs CATs of all four domains, and a row of both kinds needs both kinds;
    otherwise it is left out.

    Args:
        rows: of ``choose``.
        cats: by split, as ``by_split`` gives them.
        runs: any runs; those whose model is not printed are skipped.
        whole: the same CATs before those of low tiers were left out; None if none were.
        ties: as in ``metrics.comparisons``; StereoSet's evaluator counts ``official``.
        older: the names of runs that lack CATs, as in ``boards.missing_cats``.
        skipped: receives a message for each run without a score for a split's CATs.

    Returns:
        One dict for each pair of a printed row and a run, in the order of ``rows``:

        - the printed row's fields, ``run``, and its ``lower_is_likelier`` and ``other_head``.
        - ``rule``, ``table_rule``, ``same_rule``: the run's rule, the one that the printed numbers
          follow («or» where two fit), and whether they are the same. None if either is not known;
          False also if the rule is nsp with another kind of head than the table's.
        - ``figures``: ``{metric: {"printed", "value", "ci", "difference", "inside"}}``, in points;
          difference is value minus printed.
        - ``cats``, ``terms``, ``few_terms``, ``too_wide`` of the cell, and ``flags`` of the run.
        - ``why``: codes of ``WHY``; empty only if all three values equal the printed ones.
    """
    of_model: dict[tuple[str, str], list[tuple[Run, Fields, Counter[tuple[str, ...]]]]] = {}
    splits = {row.split for row in rows}
    for split in cats:
        printed_runs = [run for run in runs if printed_name(run) and split in splits]
        there = [run for run in printed_runs if any(map(run.has, cats[split]))]
        for run in printed_runs:
            if run not in there:
                own = amount(len(cats[split]), f"{split} CAT")
                skipped(f"{run.where}: has no scores for the {own}")
        if not there:
            continue
        run_board = board(cats[split], there, ties=ties)
        sizes = _sizes((whole or cats)[split])
        for number, run in enumerate(run_board.runs):
            result = results(run_board.table(number), model=run.model)
            name = str(printed_name(run))
            of_model.setdefault((split, name), []).append((run, result, sizes))
    pairs = []
    for row in rows:
        for run, result, sizes in of_model.get((row.split, row.model), ()):
            cell = _cell(row, result)
            if cell is not None:
                full = cell["cats"] == sizes[row.kind, row.domain, row.target]
                flags = flags_of(result, run.about, older=run.name in older)
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


def _cell(row: Printed, result: Mapping[str, Any]) -> Fields | None:
    """The cell of the results that corresponds to a printed row, or None."""
    if row.kind == BOTH:
        part: Mapping[str, Any] | None = result if {*result["kinds"]} == printed_kinds() else None
    else:
        part = result["kinds"].get(row.kind)
    if part is None:
        return None
    if row.target:
        cell = part["terms"].get(f"{row.domain}/{row.target}")
    elif row.domain == ALL:
        complete = {target.domain for target in targets()} <= part["domains"].keys()
        cell = part["overall"] if complete else None
    else:
        cell = part["domains"].get(row.domain)
    return dict(cell) if cell else None


def _pair(row: Printed, run: Run, cell: Fields, ties: Ties, *, full: bool) -> Fields:
    kinds = [k for k in KINDS if k in (printed_kinds() if row.kind == BOTH else {row.kind})]
    rules = row_rules(row, run, kinds)
    head = _other_head(row, run) if "nsp" in rules.own else ""
    values = {}
    for metric in row.values:
        value, printed, bounds = cell[metric], row.values[metric], cell[f"{metric}_ci"]
        inside = None
        if printed is not None and bounds is not None:
            half = 0.5 * 10**-row.digits
            inside = bounds[0] - half <= printed <= bounds[1] + half
        values[metric] = {
            "printed": printed,
            "value": value,
            "ci": bounds,
            "difference": None if printed is None else value - printed,
            "inside": inside,
        }
    equal = all(
        v["printed"] is None or round(v["value"], row.digits) == v["printed"]
        for v in values.values()
    )
    return {
        **row._asdict(),
        "run": run.name,
        "lower_is_likelier": run.lower_is_likelier,
        "other_head": run.about.get("other_head", ""),
        "rule": _rule_text(rules.own, run.variant, head) or run.profile or run.way,
        "table_rule": table_rule(rules),
        "same_rule": False if head else rules.same,
        "figures": values,
        "cats": cell["cats"],
        "terms": cell["terms"],
        "few_terms": cell.get("few_terms", False),
        "too_wide": cell["too_wide"],
        "why": []
        if equal
        else _why(row, cell, ties, rules=rules, head=head, full=full) or ["not known"],
    }


def _other_head(row: Printed, run: Run) -> Head:
    """Which kind of next-sentence head a run used, if it is not the table's."""
    head = "own" if run.about.get("own_head") else run.opened_head
    if head == "own" and row.profile in TRAINED_HEADS:
        return "own"
    return "trained" if head == "trained" and _table_uses_own_head(row) else ""


def _table_uses_own_head(row: Printed) -> bool:
    """Whether the row is BERT under arXiv §7.1; all other heads are trained (ACL §6.1)."""
    return row.model.startswith("BERT") and row.profile in OWN_HEADS


def _rule_text(rules: Sequence[str], variant: str = "", head: Head = "") -> str:
    """Rules as tables show them; nsp is followed by its head, if that is not the table's."""
    texts = [
        f"{rule}{variant and f'+{variant}'}{f' ({head} head)' if head and rule == 'nsp' else ''}"
        for rule in rules
    ]
    return " / ".join(dict.fromkeys(texts))


def _why(
    row: Printed, cell: Mapping[str, Any], ties: Ties, *, rules: RowRules, head: Head, full: bool
) -> list[str]:
    """The codes of ``WHY`` that apply to a pair; ``rules`` do not compare heads."""
    model = models()[row.model]
    expected = sum(t.split == row.split and row.domain in (ALL, t.domain) for t in targets())
    holds = {
        "rule": rules.same is False and not rules.by_text,
        "text": rules.same is False and rules.by_text,
        "unknown rule": rules.same is None and bool(rules.table),
        "head": any("nsp" in fits for fits in rules.table)
        and head != "own"
        and not _table_uses_own_head(row),
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
    """Rows of ``beside``, or printed rows alone, as one long table with a row per metric.

    Args:
        rows: of ``beside``, or printed rows alone.
        tier: the lowest tier of the runs' CATs, or None.

    Yields:
        The column names, then the rows. Values are in points and unrounded; an empty cell means
        that there is no such value. ``figure`` names the row's metric; ``too_wide`` is of it.
    """
    run = ["run", "lower_is_likelier", "other_head", "rule", "table_rule", "same_rule"]
    run += ["cats", "terms", "few_terms"]
    names = ["flags", "tier", "figure", "printed", "value", "low", "high", "too_wide"]
    yield [*_PLACE, "numbers", "basis", *run, *names, "difference", "why", "note"]
    for row in rows:
        for name in METRICS:
            value = row["figures"][name] if "figures" in row else {"printed": row[name]}
            yield [
                *(row[key] for key in _PLACE),
                " or ".join(row["numbers"]),
                row["basis"],
                *(row.get(key) for key in run),
                " ".join(row.get("flags", ())),
                tier,
                name,
                value["printed"],
                value.get("value"),
                *(value.get("ci") or (None, None)),
                name in row["too_wide"] if "figures" in row else None,
                value.get("difference"),
                "; ".join(row.get("why", ())),
                row["note"],
            ]


def rule_shown(row: Mapping[str, Any]) -> str:
    """The rule of a row of ``beside``, with «other:» if it is not the table's."""
    return f"other: {row['rule']}" if row["same_rule"] is False else str(row["rule"])


def latex(
    rows: Sequence[Mapping[str, Any]],
    *,
    ties: Ties = "official",
    tier: int | None = None,
    intervals: bool = False,
) -> str:
    r"""A booktabs table of printed rows, with the runs' values beside them, if there are runs.

    Args:
        rows: of ``beside``, or printed rows alone.
        ties: how ties count in the runs, for the caption.
        tier: the lowest tier of the runs' CATs, for the caption.
        intervals: whether each value's interval is printed below it.

    Returns:
        A ``longtable`` that needs ``\usepackage{booktabs,longtable}``. Its caption explains the
        marks in the table.
    """
    runs = any("figures" in row for row in rows)
    heads = ["Table", "Split", "Kind", "Domain", "Model", *(["Run"] if runs else [])]
    heads += [
        f"{name}{extra}" for name in METRICS for extra in ([" printed", ""] if runs else [""])
    ]
    columns = "l" * (5 + runs) + "r" * len(METRICS) * (2 if runs else 1)
    caption = f"{list_metrics()} as the StereoSet papers print them."
    if runs:
        caption = _caption(rows, ties, tier, intervals=intervals)
    head = [r"\toprule", rf"{' & '.join(heads)} \\", r"\midrule"]
    lines = [
        "% needs \\usepackage{booktabs,longtable}; non-ASCII letters need UTF-8",
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{caption}}}\label{{tab:published}} \\",
        *head,
        r"\endfirsthead",
        *head,
        r"\endhead",
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
                wide = WIDE if name in row["too_wide"] else ""
                below += ["", bracket(row["figures"][name]["ci"]) + wide]
        lines.append(rf"{' & '.join(texts)} \\")
        if runs and intervals:
            lines.append(rf"{' & '.join(below)} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def _caption(
    rows: Sequence[Mapping[str, Any]], ties: Ties, tier: int | None, *, intervals: bool
) -> str:
    texts = [
        f"{list_metrics()} as the StereoSet papers print them, and of runs beside them "
        f"({ties_and_tier(ties, tier)})."
    ]
    if any(row["same_rule"] is False for row in rows):
        texts.append("other: not scored by the table's rule.")
    if any(row["few_terms"] for row in rows):
        texts.append("*: fewer than five terms.")
    if intervals and any(row["too_wide"] for row in rows):
        texts.append(f"{WIDE}: an interval that covers more than 98\\,\\%.")
    other = dict.fromkeys((row["run"], row["other_head"]) for row in rows)
    texts += [escape(f"{run}: {text}.") for run, text in other if text]
    meanings = notes(row["flags"] for row in rows)
    texts += [f"{LATEX[flag]}: {escape(meaning)}." for flag, meaning in meanings.items()]
    return " ".join(texts)
