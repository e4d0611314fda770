"""Arithmetic as data: traced values, a table of primitives, and the reverse sweep.

Independent of diagrams. A computation is a ``Trace``: a list of ``Value`` in the order of
evaluation, each the result of one primitive. ``Namespace`` (the ``xp`` of a block) appends to the
trace; ``sweep`` appends the derivatives, which are primitives too and can be differentiated again.
"""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.reverse import BackwardRules, passes_gradient, sweep, unwrap
    from gradwire.runtime.calculus.trace import Trace
    from gradwire.runtime.calculus.value import Primitive, Value

__all__ = [
    "BackwardRules",
    "Namespace",
    "Primitive",
    "Trace",
    "Value",
    "passes_gradient",
    "sweep",
    "unwrap",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "namespace": "Namespace",
        "reverse": "BackwardRules passes_gradient sweep unwrap",
        "trace": "Trace",
        "value": "Primitive Value",
    },
)
