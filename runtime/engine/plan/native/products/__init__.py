"""Machine code for products of matrices."""
