"""States and the sentences that explain them."""
