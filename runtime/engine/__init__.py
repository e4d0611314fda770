"""Runs diagrams: lowers them to programs, plans those, and executes the plans in a Session."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.runtime.engine.lowering import lower
    from gradwire.runtime.engine.optimisers import Optimiser
    from gradwire.runtime.engine.plan.sparse.sparse_rows import SparseRows
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.run import Run, Shapes
    from gradwire.runtime.engine.session.session import Session

__all__ = ["Optimiser", "Program", "Run", "Session", "Shapes", "SparseRows", "lower"]

__getattr__ = imported_on_use(
    __name__,
    {
        "lowering": "lower",
        "optimisers": "Optimiser",
        "plan.sparse.sparse_rows": "SparseRows",
        "program": "Program",
        "session.run": "Run Shapes",
        "session.session": "Session",
    },
)
