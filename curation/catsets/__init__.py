"""Reads sets of CATs in the layouts that they are published in, all into StereoSet's form."""
