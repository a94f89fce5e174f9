"""``curation scores``: its commands and tables."""
