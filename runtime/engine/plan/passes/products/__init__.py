"""Products of matrices, by machine code or by fewer calls of a library."""
