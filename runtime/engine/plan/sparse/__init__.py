"""Gradients of tables from which a few rows were looked up: rows and values, not whole arrays."""
