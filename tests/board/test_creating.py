"""Boards are opened from releases with a hidden test set."""
