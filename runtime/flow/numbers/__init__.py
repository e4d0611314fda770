"""What a run says about gradients: magnitudes, contributions, flat spots, checks."""
