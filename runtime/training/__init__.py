"""Trains diagrams by the recipes in them: optimisers, rounds, histories and checkpoints."""
