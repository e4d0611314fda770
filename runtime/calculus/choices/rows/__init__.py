"""The rows of the table of choices, by family of blocks."""
