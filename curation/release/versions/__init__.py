"""Two versions of a dataset: what differs."""
