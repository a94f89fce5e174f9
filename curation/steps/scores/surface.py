"""What baselines score on CATs, from the sentiment that a file or a step gives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curation.files import read_json
from curation.formats.predictions import check_complete, read_predictions, scores_of
from curation.records import Cat
from curation.scores import baselines as baseline_rules
from curation.scores.flags import flags_of
from curation.stats.artefacts import artefacts
from curation.stats.metrics import Ties
from curation.steps.measures import VADER
from curation.steps.reporter import QUIET, Reporter
from curation.text.wording import amount
from curation.text.words import Sentiment


def read_sentiment(path: Path, cats: Sequence[Cat], *, reporter: Reporter = QUIET) -> Sentiment:
    """The sentiment of each association, from a file of predictions.

    ``by`` is the classifier that the report beside a campaign's own file names; of other files it
    is the file's name.

    Args:
        path: the file.
        cats: the CATs.
        reporter: receives a warning if the file has ids that are not in these CATs.

    Raises:
        CurationError: the file does not give the sentiment of each association.
    """
    wanted = {a.id for cat in cats for a in cat.associations}
    scores = scores_of(read_predictions(path), where=str(path), wanted=wanted)
    check_complete(cats, scores, where=str(path))
    if scores.unknown:
        reporter.warn(
            f"{path}: {amount(scores.unknown, 'score')} with ids that are not in these CATs"
        )
    return Sentiment(_measured_by(path), dict(scores.values))


def _measured_by(path: Path) -> str:
    report = path.with_name("sentiment.json")
    if path.name != "sentiment_scores.json" or not report.exists():
        return path.name
    by = (read_json(report).get("by") or {}).get("model", path.name)
    return "VADER" if by == VADER else str(by)


def baseline_results(
    cats: Sequence[Cat],
    *,
    language: str,
    ties: Ties = "half",
    sentiment: Sentiment | None = None,
    overall: bool = False,
) -> list[dict[str, Any]]:
    """The results of each baseline, with their flags.

    Args:
        cats: the CATs.
        language: language code of their texts.
        ties: how ties count, as in ``metrics.comparisons``.
        sentiment: as for ``artefacts.artefacts``.
        overall: as for ``metrics.results``.
    """
    surface = artefacts(cats, language=language, sentiment=sentiment)
    measured = baseline_rules.measured(cats, surface, ties=ties, overall=overall)
    return [
        {**result, "flags": flags_of(result)}
        for result in (*baseline_rules.baselines(cats, overall=overall), *measured)
    ]
