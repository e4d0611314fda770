"""What a session asks of an optimiser; those that there are, are in
``gradwire.runtime.training``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.run import Run
    from gradwire.runtime.engine.session.store import ValueStore


class Optimiser(Protocol):
    """Anything that computes new values from values and gradients."""

    def update(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | None]
    ) -> dict[str, Array]:
        """New values of the updated variables, in their old dtypes.

        A variable whose gradient is None is not in the result: nothing updates it, not even
        weight decay.
        """


class RowOptimiser(Optimiser, Protocol):
    """An optimiser to which gradients of tables may be given as rows."""

    takes_rows: bool
    """Whether ``update_rows`` does what ``update`` does."""

    def update_rows(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | SparseRows | None]
    ) -> dict[str, Array]:
        """As ``update``. Values are left as they are, and new ones belong to the caller."""


def move(optimiser: Optimiser, program: Program, store: ValueStore, run: Run) -> None:
    """Let an optimiser update the variables of which a run has gradients.

    Copies are handed out, but to one that takes rows.
    """
    current: dict[str, Array] = {}
    wanted = set(run.gradients)
    for path in program.sources("variable"):
        if path in program.leaves and path in wanted:
            value = store.value(path, program.leaves[path])
            if value is not None:
                current[path] = value
    if _takes_rows(optimiser):
        rows = dict(run.sparse)
        found = {
            name: rows[name] if name in rows else run.gradients[name] for name in run.gradients
        }
        for name, array in optimiser.update_rows(current, found).items():
            store.adopt(name, array)
        return
    copies = {path: np.array(value) for path, value in current.items()}
    for name, new in optimiser.update(copies, run.gradients).items():
        store.set(name, new)


def _takes_rows(optimiser: Optimiser) -> TypeGuard[RowOptimiser]:
    """Whether gradients may be given as rows. An ``isinstance`` of a protocol takes as long as a
    step of a small network.
    """
    return bool(getattr(optimiser, "takes_rows", False))
