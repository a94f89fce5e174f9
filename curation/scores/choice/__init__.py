"""Models that are asked in words: questions, replies, comparisons, and what is shown of them."""
