"""What no block computes of a program, as it was in the run that was captured."""
