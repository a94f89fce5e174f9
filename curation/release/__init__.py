"""Stage 7: the published folder."""
