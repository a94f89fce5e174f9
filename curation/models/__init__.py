"""Load and run neural models; the only package that uses torch and transformers."""
