"""``python -m curation``."""

from curation.cli import main

main()
