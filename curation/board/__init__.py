"""A leaderboard that is a folder: what is in it, its pages, and what its owner does."""
