"""Hidden gold labels: commitments, and what reveals them."""
