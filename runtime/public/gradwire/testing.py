"""Assertions about gradients, for tests.

    from gradwire.testing import assert_all_trained, gradients

    gradients(model, batch).flows("loss -> encoder/*").blocked("loss -> target/*")
    assert_all_trained(model, batch)

What they are is said in ``gradwire.runtime.programs.assertions``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.programs.assertions import (
        Gradients,
        assert_all_trained,
        gradients,
    )

__all__ = ["Gradients", "assert_all_trained", "gradients"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__package__}.runtime.programs.assertions"), name)
