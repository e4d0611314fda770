"""Blocks written as code: expressions, and formulas that are read as such."""
