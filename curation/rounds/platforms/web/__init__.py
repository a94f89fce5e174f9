"""The platform ``web``: pages of our own in front of annotators."""
