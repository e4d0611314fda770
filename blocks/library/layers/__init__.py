"""Layers of networks: what is looked up, attended to and normalised."""

from blocks.library.layers.attention import Embedding

__all__ = ["Embedding"]
