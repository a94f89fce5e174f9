"""Methods that reduce the bias of word embeddings along the directions between groups.

All take vectors of length 1, as their authors do, and return such vectors.
"""
