"""``curation trust vectors``: bias in word embeddings."""

from pathlib import Path

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.cli.trust_options import GroupNames, Source, VectorsFile
from curation.cli.trust_tables import show_runs


def vectors(
    file: VectorsFile,
    groups: GroupNames = None,
    source: Source = "",
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in word embeddings of word2vec, GloVe or numpy.

    The strength of association is the cosine of the mean vectors of the target's words and of the
    group's words. Intervals are over the words of the groups. Words without a vector are left out.
    """
    from curation.steps.trust.vectors import measure_vectors

    opened = open_campaign(campaign)
    show_runs(
        measure_vectors(opened, file, names=groups or (), source=source, reporter=console),
        as_json=as_json,
    )
