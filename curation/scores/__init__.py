"""Stage 5: models on the split."""
