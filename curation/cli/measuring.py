"""Names that have moved to ``curation.steps.measures``."""

from curation.steps.measures import VADER as VADER
from curation.steps.measures import versions as versions
