"""Files that are not sets of CATs: what they are, by their columns, and what to do instead."""

from collections.abc import Collection
from pathlib import Path

from curation.catsets.headings import plain
from curation.files import CurationError
from curation.wording import some

_MOST_LISTED = 25  # columns in a message
PAIRS = (
    "they measure something else: two sentences that differ in the group, and no unrelated one, so "
    "lms, ss and icat cannot be computed; use the tool of that benchmark, such as lm-eval's tasks, "
    "or have an unrelated sentence written for each pair"
)
_QUESTIONS = "lms, ss and icat cannot be computed; use the tool of that benchmark"
_GOLD = "give the file with the items to --gold"

_SETS: tuple[tuple[frozenset[str], str, str], ...] = tuple(
    (frozenset(map(plain, columns)), kind, fix)
    for columns, kind, fix in (
        (("modified_eng_sent_more",), "pairs of sentences, as in IndiBias", PAIRS),
        (("sent_more_hindi",), "pairs of sentences, as in IndiBias", PAIRS),
        (("sent_more", "sent_less"), "pairs of sentences, as in CrowS-Pairs", PAIRS),
        (("sent_more",), "sentences of CrowS-Pairs", PAIRS),
        (("sent_x", "sent_y"), "pairs of sentences, as in WinoQueer", PAIRS),
        (("ans0", "ans1", "ans2"), "questions with answers, as in BBQ", _QUESTIONS),
        (("coreference_clusters",), "sentences with pronouns, as in WinoBias", _QUESTIONS),
        (("template", "stereo", "anti_stereo"), "sentences as in WinoBias", _QUESTIONS),
        (("sentid", "pronoun", "occupation"), "sentences as in Winogender", _QUESTIONS),
        (("model", "rule", "association", "value"), "the scores of a model (scores.jsonl)", _GOLD),
        (
            ("model", "cat", "pair", "won", "split"),
            "the comparisons of a chat model (comparisons.jsonl)",
            _GOLD,
        ),
        (
            ("cat", "pair", "swapped", "asked", "body"),
            "the replies of a chat model (replies.jsonl)",
            _GOLD,
        ),
        (("id", "score"), "predictions, the scores of a model", _GOLD),
        (
            ("cat_id", "association_id", "annotator", "label"),
            "a release's table of annotations",
            "name dev.json or test.json of the release",
        ),
        (
            ("id", "kind", "associations", "split"),
            "a campaign's cats.jsonl",
            "leave out --gold and name the campaign with -c, or use a file of its release",
        ),
        (
            ("annotator", "label_1"),
            "a table of answers",
            "use «curation import answers», or «curation rounds import» for a round's tasks",
        ),
        (
            ("item_id", "annotator", "label"),
            "a table of answers",
            "use «curation import answers»",
        ),
        (
            ("_data_files", "_fingerprint"),
            "the state of a folder of Hugging Face datasets",
            "convert the folder with load_from_disk(…).to_parquet(…)",
        ),
        (
            ("features", "citation"),
            "the description of a Hugging Face dataset",
            "name the data file beside it",
        ),
        (("nbformat", "cells"), "a notebook", "export the items as JSON, CSV or Parquet"),
    )
)


def refuse_other_sets(path: Path, columns: Collection[str]) -> None:
    """Refuse a file whose columns are those of another known kind of data.

    Raises:
        CurationError: the file is not a set of CATs.
    """
    names = set(map(plain, columns))
    for wanted, kind, fix in _SETS:
        if wanted <= names:
            raise CurationError(
                f"{path}: not a StereoSet file, and not another set of CATs: it has {kind}", fix
            )
    pairs = {"stereotype", "antistereotype"} <= names
    if pairs and not {"unrelated", "unrelatedsentence", "context", "prompt"} & names:
        raise CurationError(
            f"{path}: not a StereoSet file, and not another set of CATs: it has pairs of sentences "
            "without an unrelated one",
            PAIRS,
        )


def unknown_columns(path: Path, columns: Collection[str]) -> CurationError:
    """The error of a file whose columns are of no known layout."""
    return CurationError(
        f"{path}: not a StereoSet file, and not another set of CATs: its columns are "
        f"{listed(columns)}",
        "if it has an unrelated sentence for each context, describe it in a mapping file; see "
        "docs/datasets.md. If it has none, lms, ss and icat cannot be computed: use the tool of "
        "that benchmark, or have unrelated sentences written",
    )


def listed(columns: Collection[str]) -> str:
    """Columns for a message; if there are very many, only the first."""
    return some((f"«{str(name)[:60]}»" for name in columns), _MOST_LISTED) or "none"
