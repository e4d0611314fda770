"""Signals, images and volumes: convolution and pooling; channels come first (N, C, …)."""
