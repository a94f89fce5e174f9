"""Stage 7: the release, a folder to publish."""
