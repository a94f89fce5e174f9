"""Training: next-sentence heads and sentiment classifiers."""
