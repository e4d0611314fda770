"""Questions about any diagram, with wrong answers that are computed too."""
