"""A diagram for other systems: source of its values, gradients and recipe, or a model of values."""
