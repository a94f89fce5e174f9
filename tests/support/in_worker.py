"""What a planted step does in a worker process."""

from pathlib import Path


def hidden(name: str) -> int:
    """Read a file."""
    return len(Path(name).read_bytes())
