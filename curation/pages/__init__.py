"""Stage 8, pages: what a team shows of its campaign or dataset, as pages without a server."""
