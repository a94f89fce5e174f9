"""Where annotators work: one module or package for each platform."""
