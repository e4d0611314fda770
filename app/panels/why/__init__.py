"""The Why panel: explains the gradient of one wire."""
