"""Runs diagrams on a thread of their own, and what the runs give."""
