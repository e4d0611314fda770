"""Convolution and pooling: tasks that slide a window."""
