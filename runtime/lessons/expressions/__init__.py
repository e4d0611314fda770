"""The expressions of lessons: their grammar, their values, and the facts that they ask for."""
