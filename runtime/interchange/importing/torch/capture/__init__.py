"""Captures programs of PyTorch by running them once."""
