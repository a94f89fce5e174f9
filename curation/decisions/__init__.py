"""Stage 3: the 3-of-5 filter, agreement, the split by term."""
