"""Trains diagrams by the recipes in them: optimisers, iterations, histories and checkpoints."""
