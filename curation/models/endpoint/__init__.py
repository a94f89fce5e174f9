"""Models behind a completions endpoint."""
