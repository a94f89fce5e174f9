"""Steps of stage 8: the report."""
