"""Texts and their parts: words, item forms, times, and how counts are worded."""
