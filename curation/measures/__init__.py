"""Stage 4: what the collected data says, and which pitfalls it falls into."""
