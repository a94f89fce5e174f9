"""Prior measures of bias in word embeddings, with which the measures of this stage are compared.

All take the vectors of the targets and of the words of ordered groups. A signed measure is positive
if a target is closer to the first group.
"""
