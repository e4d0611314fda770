"""The operators of PyTorch as blocks: one table for exported programs and for captured runs."""

from gradwire.runtime.interchange.importing.torch.operators import (
    activations,
    arithmetic,
    convolutions,
    creation,
    indexing,
    losses,
    norms,
    ordering,
    products,
    recurrent,
    reductions,
    scattering,
    shapes,
)
from gradwire.runtime.interchange.importing.torch.operators.table import find

FAMILIES = (
    activations, arithmetic, convolutions, creation, indexing, losses, norms, ordering, products,
    recurrent, reductions, scattering, shapes,
)  # fmt: skip
"""The modules that fill the table."""

__all__ = ["FAMILIES", "find"]
