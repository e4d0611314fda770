"""Functions of elements as instructions: exponentials, logarithms, sines and powers.

Every result of float32 is the float32 nearest to the exact number or a neighbour of it, so it is
nearer than those of numpy's kernels, of which log and expm1 are up to three off, and exp and log1p
two. Zeros, infinities and NaN have the results that IEEE 754 requires; tanh, erf and sigmoid stay
within their range and reach its ends where float32 does. On a processor without a fused
multiply-add some results are a float32 farther off.
"""
