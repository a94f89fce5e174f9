"""The command trust debias, of ``trust_vectors``."""

from curation.cli.trust_vectors import debias as debias
