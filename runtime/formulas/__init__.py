"""Formulas: blocks typed as text, and blocks written as text."""
