"""The version of curation."""

__version__ = "0.1.0"
