"""Imports PyTorch models: exported programs without torch, and modules by running them once."""
