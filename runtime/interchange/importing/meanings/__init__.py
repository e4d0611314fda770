"""What operators mean, whatever system has them: one function for each meaning, by families.

A meaning takes staged values and plain numbers, in one convention: channels first, axes that may
count from the end, paddings as pairs, weights (out, in, ...). Where a system has another one, its
row says so. What blocks refuse raises their own errors.
"""
