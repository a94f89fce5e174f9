"""curation: from a list of social groups to a published, validated, scored benchmark."""

__version__ = "0.1.0"
