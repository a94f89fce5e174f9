"""Statistics that several stages need: metrics, intervals, tests, agreement."""
