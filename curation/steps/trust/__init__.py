"""The steps of stage 6: runs of bias measures, and the trust report."""
