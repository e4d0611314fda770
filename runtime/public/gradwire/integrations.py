"""Watching in the places where people train: see ``gradwire.runtime.watch.integrations``."""

from importlib import import_module


def __getattr__(name: str) -> object:
    return getattr(import_module(f"{__package__}.runtime.watch.integrations"), name)
