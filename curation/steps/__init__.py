"""Steps and actions of stages."""
