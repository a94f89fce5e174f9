"""Stage 1: target terms."""
