"""Teaching with a diagram: the timeline of a training step, local derivatives, predictions."""
