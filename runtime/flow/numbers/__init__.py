"""Numbers of a run: magnitudes, rules, contributions, flat spots, gradient checks."""
