"""Watches trainings of PyTorch; nothing here is imported before torch is."""
