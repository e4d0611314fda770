"""Runs diagrams on threads of their own, and keeps the results."""
