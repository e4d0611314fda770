"""Imports models of other systems as diagrams, with their stops and what else they are."""
