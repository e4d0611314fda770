"""Layers of networks: what is looked up, attended to and normalised."""
