"""Diagrams on JAX: compiled for processors and accelerators, where numpy is outgrown."""
