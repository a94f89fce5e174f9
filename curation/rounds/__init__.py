"""Stage 2: rounds of people's work."""
