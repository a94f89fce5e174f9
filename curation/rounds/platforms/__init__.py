"""The platforms of rounds: what annotators see, and how tasks and answers travel."""
