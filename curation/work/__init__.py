"""How long work runs: over many files and processes, interrupted and continued."""
