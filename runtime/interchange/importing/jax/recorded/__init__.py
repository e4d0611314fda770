"""Equations that no block computes, as they were in the run that was captured."""
