"""The command trust prior, of ``trust_vectors``."""

from curation.cli.trust_vectors import prior as prior
