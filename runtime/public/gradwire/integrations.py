"""Watching in the places where people train: see ``gradwire.runtime.watch.integrations``."""

from gradwire.runtime.watch import integrations


def __getattr__(name: str) -> object:
    return getattr(integrations, name)
