"""Hidden gold labels of a campaign: hide, keep, reveal."""
