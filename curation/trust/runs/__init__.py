"""Runs of measures of bias: what they read, what they write, and how they are run."""
