"""Stage 6: measures of bias, and the criteria by which its results may be trusted."""
