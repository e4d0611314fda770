"""Imports what is needed when it is first used."""
