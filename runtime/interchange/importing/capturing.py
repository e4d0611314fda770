"""Captures a model of another system that runs in this process, with its stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.interchange.importing.options import ImportOptions

if TYPE_CHECKING:
    from runtime.interchange.importing.imported import Imported


def capture(model: Callable[..., Any], *args: Any, loss: str = "", check: bool = True) -> Imported:
    """The diagram of what a model computes for these arguments, with every stop of gradient.

    ``model`` is a function for JAX. ``args`` are its arguments: the float arrays of the first, a
    tree of parameters, become variables, other arrays inputs. ``loss`` is the name of the result
    to minimise; by default the only one, or the first, where that is a single float. With
    ``check``, the other system runs the model once more, and a remark says how the values and
    gradients compare.

    Raises UnsupportedError where no block can express an operation, FileError where there is no
    result called ``loss``.
    """
    from runtime.interchange.importing.jax.capturing import capture_jax

    return capture_jax(model, *args, options=ImportOptions(loss=loss), check=check)
