"""Diagrams in other forms: source code for other systems."""
