"""Commands that join stages."""
