"""Where annotators work, and what they see there."""
