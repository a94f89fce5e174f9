"""What people read in a release, and what the team is asked."""
