"""A campaign: what it holds, how it is read, its settings, and how a step runs."""
