"""The commands of ``curation board``, on the folder of a leaderboard."""
