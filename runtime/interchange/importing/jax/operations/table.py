"""All primitives that blocks compute, by how their inputs are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.jax.operations.elementwise import ELEMENTWISE
from gradwire.runtime.interchange.importing.jax.operations.indexing import INDEXING
from gradwire.runtime.interchange.importing.jax.operations.matrices import MATRICES
from gradwire.runtime.interchange.importing.jax.operations.networks import NETWORKS
from gradwire.runtime.interchange.importing.jax.operations.reductions import REDUCTIONS
from gradwire.runtime.interchange.importing.jax.operations.shapes import LAZY, SHAPES

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole

__all__ = ["ELEMENTWISE", "LAZY", "WHOLE"]

WHOLE: dict[str, Whole] = {
    **SHAPES,
    **REDUCTIONS,
    **NETWORKS,
    **INDEXING,
    **MATRICES,
}
"""Primitives whose inputs must have their full shape."""
