"""Label Studio."""
