"""Imports MXNet symbols, the JSON of a network, with the parameters that lie beside it."""
