"""Models that are asked in words: prompts, endpoints, chat templates, and what an answer says."""
