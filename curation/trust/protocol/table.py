"""The table of checks: all entries, in the order of the report."""

from curation.trust.protocol import face

CHECKS = (*face.CHECKS,)
