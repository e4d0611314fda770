"""Data sets: generators and files, their split, and the rows of every batch."""
