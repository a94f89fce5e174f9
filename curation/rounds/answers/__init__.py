"""Raw answers: their archive, who gave them, and what each of them says."""
