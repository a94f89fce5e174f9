"""Load and run neural models; the only home of torch and transformers."""
