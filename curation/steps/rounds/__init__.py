"""Rounds in a campaign: their files, status, planning, platforms."""
