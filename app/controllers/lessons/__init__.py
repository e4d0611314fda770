"""Learning in the editor: predictions, lessons, and writing them."""
