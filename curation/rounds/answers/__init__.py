"""Raw answers: their archive, and what each of them says."""
