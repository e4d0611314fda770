"""What a page computes: the tape of a diagram, its numbers and switches, and the comparison."""
