"""Arithmetic as data: traced values, a table of primitives, and the reverse sweep.

Independent of diagrams. A computation is a ``Trace``: a list of ``Value`` in the order of
evaluation, each the result of one primitive. ``Namespace`` (the ``xp`` of a block) appends to the
trace; ``sweep`` appends the derivatives, which are primitives too and can be differentiated again.
"""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
