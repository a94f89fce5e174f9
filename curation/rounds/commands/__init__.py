"""Commands of rounds that need no later stage."""
