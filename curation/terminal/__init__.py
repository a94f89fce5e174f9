"""What all commands share: what users see, and how functions become commands."""
