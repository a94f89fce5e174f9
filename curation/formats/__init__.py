"""Formats of files: tables in text, Parquet, TOML, Markdown, compressed text."""
