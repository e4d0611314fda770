"""What ``forward`` computes with, for annotations: the runtime's, which blocks don't import."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For the author of a block's ``forward`` and type checkers: nothing of it is there at run time.
    from gradwire.runtime.calculus.namespace import Namespace as Namespace
    from gradwire.runtime.calculus.value import Operand as Operand
    from gradwire.runtime.calculus.value import Value as Value
