"""The criteria for a dataset of CATs and for the lms, ss and icat of models on it."""
