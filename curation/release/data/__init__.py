"""The data files of a release."""
