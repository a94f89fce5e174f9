"""What a chat model's replies say: comparisons, and differences between prompts and groups."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.kinds import KINDS
from curation.models.chat_reading import NO_ANSWER
from curation.records import PAIRS, Cat, Comparison, Fields, Pair, Rejection
from curation.scores.asking import COMPARED, Asked, ChatQuestion, cat_digest
from curation.stats.intervals import Floats, difference_interval, share_interval
from curation.stats.metrics import SHARES, Ties, metrics_in, over_terms, results
from curation.stats.tests import exchange_test, holm

RULE = "choice"
EVEN = 1e-5
"""Probabilities of the two orders that differ by no more than this are equal: rounding errors of
models reach 1e-6, and would decide which association a model prefers that has no preference."""
Replicate = tuple[str, int]  # prompt and sample


def preferred(plain: Floats, swapped: Floats) -> Floats:
    """Which association each replicate prefers: 1 for the pair's first, 0 for its second, 0.5.

    In the swapped order, the first letter is the pair's second association. So the mean probability
    of the first association over both orders is (plain + 1 − swapped) / 2.

    Args:
        plain: the probability of the first letter if the pair's first association is shown first.
        swapped: the same if its second association is shown first.

    >>> preferred(np.array([0.9, 0.2, 0.7]), np.array([0.3, 0.2, 0.700001]))
    array([1. , 0.5, 0.5])
    """
    difference = plain - swapped
    even = np.abs(difference) <= EVEN
    return np.asarray(np.where(even, 0.5, difference > 0), float)


def on_one_basis(asked: Sequence[Asked]) -> list[Asked]:
    """What replies say, so that both orders of a replicate are read in the same way.

    If only one of the two replies has probabilities, as with servers that send requests to several
    machines, both count by the letter that they name: 1 or 0. Else the reply without probabilities
    would outweigh the other one.
    """
    basis: dict[tuple[object, ...], set[bool]] = {}
    for each in asked:
        if each.reading.letter:
            basis.setdefault(_replicate(each), set()).add(each.reading.sure)
    return [
        each._replace(
            reading=each.reading._replace(first=float(each.reading.letter == "first"), sure=True)
        )
        if each.reading.letter and len(basis[_replicate(each)]) == 2
        else each
        for each in asked
    ]


def _replicate(asked: Asked) -> tuple[object, ...]:
    return asked.cat, asked.pair, asked.prompt, asked.sample


def compare(
    cats: Sequence[Cat], asked: Iterable[Asked], *, model: str, variant: str = ""
) -> list[Comparison]:
    """The comparisons that replies make.

    A replicate, which is one prompt in one sample, counts only if both orders have an answer. Its p
    is the mean over both orders of the probability of the pair's first association. It is won if
    p > 1/2, lost if p < 1/2, and split if p = 1/2 (``preferred``). A pair without any such
    replicate is left out.

    Args:
        cats: the CATs.
        asked: what the replies say, in any order; replies about other CATs are ignored.
        model: the model's name.
        variant: how the texts were altered.

    Returns:
        In the order of the CATs and of their kinds' pairs. ``p`` is None if a reply that counts
        gives no probabilities.
    """
    orders: dict[tuple[str, Pair], dict[Replicate, dict[bool, Asked]]] = {}
    for each in asked:
        if each.reading.first is not None:
            of_pair = orders.setdefault((each.cat, each.pair), {})
            of_pair.setdefault((each.prompt, each.sample), {})[each.swapped] = each
    comparisons = []
    for cat in cats:
        digest = ""
        for pair in COMPARED[cat.kind]:
            of_pair = orders.get((cat.id, pair), {})
            both = [of_pair[key] for key in sorted(of_pair) if len(of_pair[key]) == 2]
            if not both:
                continue
            digest = digest or cat_digest(cat, variant=variant)
            comparisons.append(_comparison(model, cat.id, pair, digest, both))
    return comparisons


def _comparison(
    model: str, cat: str, pair: Pair, digest: str, both: Sequence[Mapping[bool, Asked]]
) -> Comparison:
    plain = [order[False].reading for order in both]
    swapped = [order[True].reading for order in both]
    firsts = [(a.first or 0.0, b.first or 0.0) for a, b in zip(plain, swapped, strict=True)]
    values = preferred(*np.array(firsts).T)
    known = not any(reading.sure for reading in (*plain, *swapped))
    return Comparison(
        model=model,
        rule=RULE,
        cat=cat,
        pair=pair,
        won=float((values == 1).mean()),
        split=float((values == 0.5).mean()),
        p=min(max(fmean((a + 1 - b) / 2 for a, b in firsts), 0.0), 1.0) if known else None,
        replicates=len(firsts),
        asked=digest,
    )


def unanswered(
    cats: Sequence[Cat],
    questions: Iterable[ChatQuestion],
    asked: Iterable[Asked],
    *,
    model: str,
    variant: str = "",
) -> list[Rejection]:
    """The questions without an answer although a reply came, in order, with the reason.

    Args:
        cats: the CATs.
        questions: the questions; those without a reply are left out.
        asked: what the replies say, in any order.
        model: the model's name.
        variant: how the texts were altered.
    """
    by_id = {cat.id: cat for cat in cats}
    none = {each[:5]: each for each in asked if each.reading.first is None}
    digests: dict[str, str] = {}
    rejections = []
    for question in questions:
        row, place = none.get(question.place), question.place
        if row is None:
            continue
        cat = by_id[place.cat]
        if cat.id not in digests:
            digests[cat.id] = cat_digest(cat, variant=variant)
        about = {"target": cat.target, "domain": cat.domain, "kind": cat.kind}
        record = {
            **place._asdict(),
            **({"second": True} if row.second else {}),
            "asked": question.digest,
            "texts": digests[cat.id],
            "rule": RULE,
            **about,
        }
        code, detail = row.reading.code, row.reading.detail
        rejections.append(Rejection(code=code, detail=detail, where=model, record=record))
    return rejections


OF_CAT = ["kind", "domain", "term"]
ORDERS = ["cat", "pair", "prompt", "sample"]  # what the two orders of a question have in common
REFUSED, NONE = "answer_refused", "no_answer"


def questions_table(cats: Sequence[Cat], asked: Iterable[Asked]) -> pd.DataFrame:
    """One row per question that has a reply; questions about other CATs are left out.

    Returns:
        The fields of ``Asked`` but the reading, and ``kind``, ``domain``, ``term``
        (``domain/target``), ``code`` ("" for an answer), ``p`` (the probability of the first
        letter; NaN without an answer), ``first`` (whether the first letter was chosen) and
        ``named`` (whether a second question gave a letter).
    """
    about = {cat.id: (cat.kind, cat.domain, f"{cat.domain}/{cat.target}") for cat in cats}
    rows = [
        (
            *about[each.cat],
            each.cat,
            each.pair,
            each.swapped,
            each.prompt,
            each.sample,
            each.reading.code,
            np.nan if each.reading.first is None else each.reading.first,
            each.reading.letter,
            each.second,
        )
        for each in asked
        if each.cat in about
    ]
    columns = [*OF_CAT, "cat", "pair", "swapped", "prompt", "sample", "code", "p", "letter"]
    table = pd.DataFrame(rows, columns=[*columns, "second"]).astype({"second": bool})
    chosen = (table["letter"] == "first") | ((table["letter"] == "") & (table["p"] > 0.5))
    has = table["code"] == ""
    return table.assign(first=has & chosen, named=has & table["second"]).drop(columns="letter")


def by_cat(table: pd.DataFrame) -> pd.DataFrame:
    """Counts of each CAT: ``questions``, ``first``, ``second``, ``named``, ``no_answer``, by code.

    Args:
        table: rows of ``questions_table``.

    Returns:
        One row per CAT, with its kind, domain and term.
    """
    columns = table[["cat", *OF_CAT, "first", "second", "named"]].assign(questions=1)
    columns[NONE] = table["code"] != ""
    for code in NO_ANSWER:
        columns[code] = table["code"] == code
    return columns.groupby(["cat", *OF_CAT], sort=False, as_index=False).sum()


def share(counts: pd.DataFrame, column: str, *, of: str = "questions") -> Fields:
    """A share with its 95 % interval: over terms, or over CATs if there is only one term.

    Args:
        counts: one row per CAT, as in ``by_cat``.
        column: what is counted.
        of: out of what.

    Returns:
        ``{"n", "share", "ci"}``. The share is None if there is nothing to count, and the interval
        with fewer than two units.
    """
    terms = pd.factorize(counts["term"], sort=True)[0]
    return share_of(np.asarray(counts[column], float), np.asarray(counts[of], float), terms)


def share_of(n: Floats, of: Floats, terms: NDArray[np.intp]) -> Fields:
    """As ``share``.

    Args:
        n: shape (CATs,), what is counted.
        of: shape (CATs,), out of what.
        terms: shape (CATs,), each CAT's term as a number from 0 on.
    """
    there = of > 0
    n, of, terms = n[there], of[there], terms[there]
    cats, count = len(n), int(n.sum())
    if cats and (terms != terms[0]).any():
        sums = np.bincount(terms, of)
        n = np.asarray(np.bincount(terms, n)[sums > 0], float)
        of = np.asarray(sums[sums > 0], float)
    return {
        "n": count,
        "share": count / int(of.sum()) if cats else None,
        "ci": share_interval(n, of, observations=cats),
    }


def answers_cell(counts: pd.DataFrame) -> Fields:
    """The questions of some CATs, and how many of them have no answer, by code.

    Args:
        counts: one row per CAT, as in ``by_cat``.

    Returns:
        ``{"cats", "terms", "questions", "answered", "no_answer", "none": {code: share}}``; shares
        are those of ``share``. ``none`` has refusals, and every code that occurs.
    """
    codes = [code for code in NO_ANSWER if code == REFUSED or counts[code].any()]
    none = share(counts, NONE)
    questions = int(counts["questions"].sum())
    return {
        "cats": len(counts),
        "terms": int(counts["term"].nunique()),
        "questions": questions,
        "answered": questions - none["n"],
        NONE: none,
        "none": {str(code): share(counts, code) for code in codes},
    }


def answers_by(table: pd.DataFrame, counts: pd.DataFrame) -> dict[str, Fields]:
    """``answers_cell`` by domain, term, kind, pair and prompt.

    Args:
        table: of ``questions_table``.
        counts: of ``by_cat`` for the same table.
    """
    cells = {
        name: {str(value): answers_cell(part) for value, part in counts.groupby(name, sort=True)}
        for name in ("domain", "term", "kind")
    }
    for name, order in (("pair", PAIRS), ("prompt", tuple(dict.fromkeys(table["prompt"])))):
        parts = {value: table[table[name] == value] for value in order}
        cells[name] = {
            str(value): answers_cell(by_cat(part)) for value, part in parts.items() if len(part)
        }
    return cells


def both_orders(table: pd.DataFrame) -> pd.DataFrame:
    """The pairs that were answered in both orders, one row per prompt and sample.

    Args:
        table: of ``questions_table``.

    Returns:
        ``ORDERS`` and ``OF_CAT``; ``value``: 1 if the first association of the pair is preferred, 0
        if the second is, 0.5 if neither is; ``split``: whether the answer changed with the order.
    """
    answered = table[table["code"] == ""]
    plain = answered[~answered["swapped"].astype(bool)]
    turned = answered[answered["swapped"].astype(bool)]
    pairs = plain.merge(turned[[*ORDERS, "p", "first"]], on=ORDERS, suffixes=("", "_turned"))
    return pairs[[*ORDERS, *OF_CAT]].assign(
        value=preferred(np.asarray(pairs["p"], float), np.asarray(pairs["p_turned"], float)),
        split=pairs["first"] == pairs["first_turned"],
    )


def position(table: pd.DataFrame) -> Fields:
    """How much the answers depend on the order.

    Args:
        table: of ``questions_table``.

    Returns:
        ``{"first", "split", "by_prompt": {prompt: {"first", "split"}}}``, shares as in ``share``:
        of first letters among answers, and of pairs (answered in both orders) whose answer changed
        with the order.
    """
    by_prompt = table.groupby("prompt", sort=False)
    return {
        **_position(table),
        "by_prompt": {str(name): _position(part) for name, part in by_prompt},
    }


def _position(table: pd.DataFrame) -> Fields:
    answered = by_cat(table[table["code"] == ""])
    pairs = both_orders(table).assign(pairs=1)
    columns = ["cat", "term", "split", "pairs"]
    split = pairs[columns].groupby(["cat", "term"], sort=False, as_index=False).sum()
    return {"first": share(answered, "first"), "split": share(split, "split", of="pairs")}


def second_questions(table: pd.DataFrame, *, ties: Ties = "half") -> Fields | None:
    """How many questions were asked twice, and how the metrics change without their letters.

    Args:
        table: of ``questions_table``.
        ties: as in ``metrics.comparisons``.

    Returns:
        ``{"asked", "named", "metrics", "moved"}``, or None if no question was asked twice.
        ``asked`` is their share of all questions, and ``named`` the share of these with a letter,
        as in ``share``. ``metrics`` has for each metric its ``value``, ``ci``, and the value
        ``without`` the letters, in points, each over all CATs that have all their comparisons. It
        is None if there is no such CAT, and ``without`` if none is left. ``moved`` names the
        metrics that change by more than half the width of their interval, or have no ``without``.
    """
    if not table["second"].any():
        return None
    counts = by_cat(table)
    asked, named = share(counts, "second"), share(counts, "named", of="second")
    whole, rest = _overall(table, ties), _overall(table[~table["named"]], ties)
    metrics, moved = {}, []
    for metric in metrics_in([whole]):
        value, ci = whole[metric.name], whole[f"{metric.name}_ci"]
        without = rest.get(metric.name)
        metrics[metric.name] = {"value": value, "ci": ci, "without": without}
        half = (ci[1] - ci[0]) / 2 if ci else 0.0
        if without is None or abs(value - without) > half + EVEN:
            moved.append(metric.name)
    return {"asked": asked, "named": named, "metrics": metrics or None, "moved": moved}


def _overall(table: pd.DataFrame, ties: Ties) -> Fields:
    """The metrics over the CATs that have all their comparisons; {} if none has."""
    pairs = both_orders(table)
    return over_terms(_whole(pairs, [], ties)) if has_whole_cat(pairs) else {}


def has_whole_cat(pairs: pd.DataFrame) -> bool:
    """Whether some CAT has all comparisons of its kind.

    Args:
        pairs: of ``both_orders``.
    """
    counts = pairs.groupby(["cat", "kind"])["pair"].nunique()
    needed = [len(COMPARED[kind]) for kind in counts.index.get_level_values("kind")]
    return bool((counts == needed).any())


_QUESTION = ["cat", *OF_CAT, "pair", "prompt", "swapped"]


def prompt_spread(table: pd.DataFrame, *, ties: Ties = "half") -> Fields | None:
    """The metrics by prompt, on the CATs for which every prompt has all comparisons.

    Args:
        table: of ``questions_table``.
        ties: as in ``metrics.comparisons``.

    Returns:
        ``{"rows", "spread"}``, or None if every kind has one prompt. Rows are ``{"name", "overall",
        "kinds"}`` with cells of ``metrics.results``; ``overall`` is None for a prompt that not
        every kind has. ``spread`` is that of ``_spread``.
    """
    prompts = table.groupby("kind")["prompt"].nunique()
    return _by(table, "prompt", ties) if (prompts > 1).any() else None


def sample_spread(table: pd.DataFrame, *, ties: Ties = "half") -> Fields | None:
    """The metrics by sample, and how many questions have different answers.

    Args:
        table: of ``questions_table``.
        ties: as in ``metrics.comparisons``.

    Returns:
        As ``prompt_spread``, with ``changed``: the share of questions, asked more than once, whose
        answer was not always the same letter or not always an answer (``share``). None if
        there is one sample.
    """
    if table["sample"].nunique() < 2:
        return None
    outcome = np.where(table["code"] != "", "", np.where(table["first"], "first", "second"))
    each = table.assign(outcome=outcome).groupby(_QUESTION, sort=False)["outcome"]
    questions = each.agg(["nunique", "size"]).reset_index()
    several = questions[questions["size"] > 1]
    counts = several.assign(changed=several["nunique"] > 1, questions=1)
    sums = counts.groupby(["cat", "term"], as_index=False, sort=False)[["changed", "questions"]]
    return {**_by(table, "sample", ties), "changed": share(sums.sum(), "changed")}


def _by(table: pd.DataFrame, column: str, ties: Ties) -> Fields:
    tables = _tables(table, column, ties)
    kinds = [str(kind) for kind in KINDS if any(kind in set(t["kind"]) for t in tables.values())]
    rows: list[Fields] = []
    for name, own in tables.items():
        result = results(own, model=name, overall=True)
        cells = {kind: part["overall"] for kind, part in result["kinds"].items()}
        whole = result["overall"] if set(cells) == set(kinds) else None
        rows.append({"name": name, "overall": whole, "kinds": cells})
    overall = [row["overall"] for row in rows if row["overall"]]
    by_kind = {kind: [row["kinds"][kind] for row in rows if kind in row["kinds"]] for kind in kinds}
    spread = {"overall": _spread(overall), "kinds": {k: _spread(c) for k, c in by_kind.items()}}
    return {"rows": rows, "spread": spread}


def _tables(table: pd.DataFrame, column: str, ties: Ties) -> dict[str, pd.DataFrame]:
    """``metrics.comparisons`` of each prompt or sample, on the CATs that all of them have."""
    rows = _whole(both_orders(table), [column], ties)
    asked = table.groupby("kind")[column].nunique()
    have = rows.groupby("cat")[column].nunique()
    common = rows[have.loc[rows["cat"]].to_numpy() == asked.loc[rows["kind"]].to_numpy()]
    return {
        str(name): common[common[column] == name].drop(columns=[column, "cat"])
        for name in dict.fromkeys(table[column])
        if (common[column] == name).any()
    }


def _whole(pairs: pd.DataFrame, by: list[str], ties: Ties) -> pd.DataFrame:
    """``metrics.comparisons`` of the CATs that have all, with the columns ``by`` and ``cat``.

    Args:
        pairs: of ``both_orders``.
        by: columns whose values are kept apart; over all others, the mean is taken.
        ties: as in ``metrics.comparisons``.
    """
    pairs = pairs.assign(tied=pairs["value"] == 0.5)
    if ties == "official":
        pairs["value"] = (pairs["value"] == 1).astype(float)
    index = [*by, "cat", *OF_CAT]
    means = pairs.groupby([*index, "pair"], sort=False, as_index=False)[["value", "tied"]].mean()
    wide = means.pivot(index=index, columns="pair", values="value").reindex(columns=list(PAIRS))
    ties_of = means.assign(tied=means["tied"] == 1).groupby(index, sort=False)["tied"].sum()
    kinds = wide.index.get_level_values("kind")
    needed = np.array([[pair in COMPARED[kind] for pair in PAIRS] for kind in kinds], bool)
    whole = wide[(wide.notna() | ~needed).all(axis=1)] if len(wide) else wide
    won = {
        metric.column: whole[["/".join(roles) for roles in metric.pairs]].to_numpy().sum(axis=1)
        for metric in SHARES
    }
    tied = ties_of.reindex(whole.index).astype(int).to_numpy()
    return whole.index.to_frame(index=False).assign(**won, ties=tied)


def _spread(cells: list[Fields]) -> Fields | None:
    """For each metric the lowest and highest value, their range, the variance and its square root.

    None with fewer than two cells. Values are in points. The variance divides by n − 1.
    """
    if len(cells) < 2:
        return None
    spread: Fields = {}
    for metric in metrics_in(cells):
        values = np.array([cell[metric.name] for cell in cells])
        variance = float(values.var(ddof=1))
        spread[metric.name] = {
            "low": float(values.min()),
            "high": float(values.max()),
            "range": float(values.max() - values.min()),
            "mean": float(values.mean()),
            "variance": variance,
            "sd": variance**0.5,
        }
    return {"n": len(cells), **spread}


ALPHA = 0.05


def group_differences(counts: pd.DataFrame) -> list[Fields]:
    """Shares of refusals, and of all questions without an answer, of each group and of the rest.

    A term is compared with all other terms, and its units are CATs; only CATs of the same kind are
    exchanged. A domain is compared with the other domains twice, with terms and with CATs as units,
    and p is the larger one: CATs of a term are alike, and terms of few CATs have shares that vary
    more. p is that of ``exchange_test``, with Holm's correction over all domains and terms and both
    shares. If every question without an answer is a refusal, the two shares are the same and are
    tested once.

    Args:
        counts: of ``by_cat``.

    Returns:
        ``{"of", "group", "outcome", "cats", "terms", "share", "ci", "rest", "rest_ci",
        "difference", "ci_difference", "p", "p_holm"}``: ``of`` is "domain" or "term", ``outcome``
        "answer_refused" or "no_answer". Shares are between 0 and 1. p is None if the group has too
        few units to show any difference. Nothing if there is no second group, or no question
        without an answer.
    """
    columns = {name: np.asarray(counts[name], float) for name in (REFUSED, NONE, "questions")}
    if not columns[NONE].any():
        return []
    same = bool((columns[REFUSED] == columns[NONE]).all())
    outcomes = [REFUSED] if same else [name for name in (REFUSED, NONE) if columns[name].any()]
    groups = {of: np.asarray(counts[of], str) for of in ("domain", "term", "kind")}
    rows = [
        _difference(columns[outcome], columns["questions"], groups, of, group)
        | {"outcome": outcome}
        for outcome in outcomes
        for of in ("domain", "term")
        for group in np.unique(groups[of])
        if (groups[of] != groups[of][0]).any()
    ]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    return rows + [row | {"outcome": NONE} for row in rows if same]


def _difference(
    n: Floats, of: Floats, groups: Mapping[str, NDArray[np.str_]], column: str, group: str
) -> Fields:
    """A row of ``group_differences`` without ``outcome`` and ``p_holm``.

    Args:
        n: shape (CATs,), how many questions have the outcome.
        of: shape (CATs,), how many questions there are.
        groups: the ``domain``, ``term`` and ``kind`` of each CAT.
        column: "domain" or "term".
        group: the domain or term.
    """
    inside = groups[column] == group
    names, terms = np.unique(groups["term"], return_inverse=True)
    own, rest = (share_of(n[part], of[part], terms[part]) for part in (inside, ~inside))
    ends = None
    if own["ci"] and rest["ci"]:
        ends = list(difference_interval(own["share"], rest["share"], own["ci"], rest["ci"]))
    p = exchange_test(n / of, inside, groups["kind"])
    if column == "domain" and p is not None:
        shares = np.bincount(terms, n) / np.bincount(terms, of)
        over_terms = exchange_test(shares, np.isin(names, groups["term"][inside]))
        p = None if over_terms is None else max(p, over_terms)
    return {
        "of": column,
        "group": str(group),
        "cats": int(inside.sum()),
        "terms": len(np.unique(terms[inside])),
        "share": own["share"],
        "ci": own["ci"],
        "rest": rest["share"],
        "rest_ci": rest["ci"],
        "difference": own["share"] - rest["share"],
        "ci_difference": ends,
        "p": p,
    }


def uneven_groups(differences: list[Fields]) -> list[str]:
    """The domains and terms that differ from the rest: p after Holm's correction is below 0.05.

    Args:
        differences: of ``group_differences``.
    """
    return list(dict.fromkeys(row["group"] for row in differences if differs(row)))


def differs(row: Mapping[str, Any]) -> bool:
    """Whether a group of ``group_differences`` differs from the rest."""
    return row["p_holm"] is not None and row["p_holm"] < ALPHA
