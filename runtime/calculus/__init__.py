"""Arithmetic as data: traced values, primitives in tables, and the reverse sweep.

Knows nothing of diagrams. A computation is a ``Trace``: a list of ``Value`` in the order of
evaluation, each the result of one primitive. ``Namespace`` (the ``xp`` of a block) appends to it;
``sweep`` appends its derivatives, which are again primitives.
"""

from runtime.calculus.namespace import Namespace
from runtime.calculus.reverse import passes, sweep, unwrap
from runtime.calculus.trace import Primitive, Trace, Value

__all__ = ["Namespace", "Primitive", "Trace", "Value", "passes", "sweep", "unwrap"]
