"""Where systems give different numbers for one block, and what is chosen here: one table.

The manual's table, the notes on blocks and the claims about other systems are made of it; beside it
stand the ``definitions``, which compute what the other systems compute. Tests run PyTorch and JAX
against both: a difference that no row describes fails, and so does a row that names a system which
gives the same numbers, and a definition that does not give the system's numbers.
"""
