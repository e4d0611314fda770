"""The tables of primitives, one module a family, each with the ``xp`` names that use it."""
