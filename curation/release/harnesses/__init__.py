"""Other harnesses: what they misread, and tasks for them."""
