"""Models' scores of a campaign or of gold files: score, compare, baselines, ensembles."""
