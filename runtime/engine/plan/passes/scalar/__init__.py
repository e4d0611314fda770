"""Regions of scalars: one function each, in Python or machine code."""
