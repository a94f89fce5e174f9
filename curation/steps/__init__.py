"""The steps of the pipeline: what each reads, does and writes."""

from curation.steps import pipeline as pipeline  # so that all steps are known, by any import
