"""The panels of training: its bar, its curves, and the list of runs."""
