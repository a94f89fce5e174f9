"""Stage 1: the target terms."""
