"""Bias in contextual representations: reduction to word vectors, and probes (section 4.3)."""
