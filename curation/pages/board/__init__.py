"""A leaderboard that is a folder: what is in it, and its pages."""
