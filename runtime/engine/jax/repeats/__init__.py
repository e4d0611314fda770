"""Rolls the repeated parts of a computation into loops, which XLA compiles once.

A flat graph of a recurrent network or of a stack of layers repeats the same operations again and
again, and the time to compile it grows with their number. ``rolled`` finds the repetitions by the
structure of the graph, whatever they come from, and ``evaluate`` computes them by ``lax.scan``.
"""
