"""All files of a release, from its contents and its facts."""

ALGORITHM = 6
