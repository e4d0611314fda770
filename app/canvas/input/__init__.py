"""Mouse and keyboard on the canvas: what they do becomes a Change."""
