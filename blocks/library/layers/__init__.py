"""Layers of networks: what is looked up, attended to and normalised."""

from blocks.library.layers.attention import Attention, Embedding
from blocks.library.layers.normalisation import LRN, BatchNorm, GroupNorm, LayerNorm, RMSNorm

__all__ = ["LRN", "Attention", "BatchNorm", "Embedding", "GroupNorm", "LayerNorm", "RMSNorm"]
