"""Passes for arrays so small that calling numpy takes longer than the arithmetic."""
