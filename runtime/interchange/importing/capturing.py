"""Captures a model of another system that runs in this process, with its stops."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gradwire.runtime import extras
from gradwire.runtime.interchange.importing.leaving_out import Keeps, without_source
from gradwire.runtime.interchange.importing.options import ImportOptions
from gradwire.runtime.interchange.importing.torch.versions import within

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def capture(
    model: Callable[..., Any],
    *args: Any,
    loss: str = "",
    check: bool | None = None,
    optimizer: Any = None,
    data: bool = True,
    source: bool = True,
    structure: bool = False,
    **kwargs: Any,
) -> Imported:
    """The diagram of what a model computes for these arguments, with every stop of gradient.

    ``model`` is a module of PyTorch, a function that uses some, or a function for JAX. ``loss`` is
    the name of the result to minimise; by default the only one, or the first, where that is a
    single float.

    With ``check``, a run of the diagram is compared with the model's own: a remark says how values
    and gradients compare. By default that is so, except for a PyTorch model of more than four
    million parameters: it is measured in its own run, of which ``diagnose`` then tells without
    another one, and only which gradients are None is compared until something needs a run.

    ``data=False`` leaves out the numbers of the batch: tensors from outside become inputs without
    a value, to be fed. ``source=False`` leaves out what lines of source say; files and numbers of
    lines stay. ``structure=True`` keeps no numbers at all, differentiates nothing, and takes models
    and tensors on the meta device: ``analyse`` says who has a route, and what cuts it. Arguments
    of the model that have these names, and are no booleans, go to the model.

    For JAX, the float arrays of the first argument, a tree of parameters, become variables, other
    arrays inputs. For PyTorch, parameters of modules become variables and tensors among the
    arguments inputs; the branches and loops are those of this run. It leaves parameters, buffers,
    gradients, optimisers and random states as they were, but not iterators, data loaders and other
    objects of Python that the program changes. The groups of a PyTorch ``optimizer``, or of that
    of a scheduler, become the recipe.

    Raises UnsupportedError where no block can express an operation, FileError where there is no
    result called ``loss``, RunError where models can't be captured by the PyTorch that is here.
    """
    options = ImportOptions(loss=loss)
    chosen = {"data": data, "source": source, "structure": structure}
    kwargs |= {name: x for name, x in chosen.items() if not isinstance(x, bool)}
    keeps = Keeps(**{name: x for name, x in chosen.items() if isinstance(x, bool)})
    if _is_torch(model, args, kwargs):
        with within(str(sys.modules["torch"].__version__)):
            from gradwire.runtime.interchange.importing.torch.capture.capturing import capture_torch

            return capture_torch(
                model, args, kwargs, options, check=check, optimizer=optimizer, keeps=keeps
            )
    extras.require("jax", "Capturing a function that uses no PyTorch")
    from gradwire.runtime.interchange.importing.jax.capturing import capture_jax

    check = check is not False and not structure
    made = capture_jax(model, *args, options=options, check=check, **kwargs)
    return keeps.left_of(made if keeps.source else without_source(made))


def _is_torch(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a model is one of PyTorch; then something has imported torch already."""
    if "torch" not in sys.modules:
        return False
    from gradwire.runtime.interchange.importing.torch.capture.naming import uses_torch

    return uses_torch(model, args, kwargs)
