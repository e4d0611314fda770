"""Elementwise operations: in groups, tiles and fused loops."""
