"""Which runs are up to date; see ``measuring``."""

from curation.steps.trust.measuring import KnownRuns as KnownRuns
from curation.steps.trust.measuring import RunState as RunState
from curation.steps.trust.measuring import known_runs as known_runs
from curation.steps.trust.measuring import measure_runs as measure_runs
