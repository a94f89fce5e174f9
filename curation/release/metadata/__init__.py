"""What programs read of a release: Croissant, Frictionless, CITATION.cff."""
