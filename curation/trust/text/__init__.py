"""Bias in text: contexts of targets, labelled automatically or by people (section 4.1)."""
