"""From raw answers to items and labels."""
