"""The step release, and what is done with built releases."""
