"""Captures a model of another system that runs in this process, with its stops."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gradwire.runtime import extras
from gradwire.runtime.interchange.importing.options import ImportOptions
from gradwire.runtime.interchange.importing.torch.versions import within

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def capture(
    model: Callable[..., Any],
    *args: Any,
    loss: str = "",
    check: bool = True,
    optimizer: Any = None,
    **kwargs: Any,
) -> Imported:
    """The diagram of what a model computes for these arguments, with every stop of gradient.

    ``model`` is a module of PyTorch, a function that uses some, or a function for JAX. ``loss`` is
    the name of the result to minimise; by default the only one, or the first, where that is a
    single float. With ``check``, the other system runs the model once more, and a remark says how
    the values and gradients compare.

    For JAX, the float arrays of the first argument, a tree of parameters, become variables, other
    arrays inputs. For PyTorch, parameters of modules become variables and tensors among the
    arguments inputs; the branches and loops are those of this run, which leaves parameters, buffers
    and gradients as they were. The groups of a PyTorch ``optimizer``, or of that of a scheduler,
    become the recipe.

    Raises UnsupportedError where no block can express an operation, FileError where there is no
    result called ``loss``, RunError where models can't be captured by the PyTorch that is here.
    """
    options = ImportOptions(loss=loss)
    if _is_torch(model, args, kwargs):
        with within(str(sys.modules["torch"].__version__)):
            from gradwire.runtime.interchange.importing.torch.capture.capturing import capture_torch

            return capture_torch(model, args, kwargs, options, check=check, optimizer=optimizer)
    extras.require("jax", "Capturing a function that uses no PyTorch")
    from gradwire.runtime.interchange.importing.jax.capturing import capture_jax

    return capture_jax(model, *args, options=options, check=check, **kwargs)


def _is_torch(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a model is one of PyTorch; then something has imported torch already."""
    if "torch" not in sys.modules:
        return False
    from gradwire.runtime.interchange.importing.torch.capture.naming import uses_torch

    return uses_torch(model, args, kwargs)
