"""The steps of the pipeline: what each reads, does and writes."""
