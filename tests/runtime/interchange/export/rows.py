"""One primitive as a target writes it, executed value by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.interchange.export.code import Code
from gradwire.runtime.interchange.export.module import called_helpers
from tests.runtime.calculus.tracing import compute, leaf

if TYPE_CHECKING:
    from gradwire.runtime.interchange.export.rows import ExportTarget
    from tests.runtime.calculus.cases import Case

Array = NDArray[Any]


def written(
    case: Case,
    target: ExportTarget,
    names: dict[str, Any],
    to: Any = np.asarray,
    read: Any = np.asarray,
) -> tuple[Array, Array]:
    """What the source gives, and what the kernels give; ``to`` and ``read`` convert arrays."""
    trace, result, bound = traced(case)
    wanted = compute(result, bound)
    for number, value in enumerate(trace.values):
        name = f"v{number}"
        if value in bound:
            names[name] = to(bound[value])
        elif value.primitive is CONSTANT:
            names[name] = to(value.attributes["array"])
        else:
            operands = [Code(f"v{x.index}") for x in value.inputs]
            text = target.row(value).code(value, operands).text
            for helper in called_helpers(target.helpers, text):
                exec(helper, names)
            with np.errstate(all="ignore"):
                names[name] = eval(text, names)
    return read(names[f"v{result.index}"]), wanted


def gradients(case: Case) -> list[Array | None]:
    """The gradients of the sum by the float inputs, as the kernels give them."""
    trace, result, bound = traced(case)
    floats = [x for x in bound if x.dtype.startswith("float")]
    if not result.dtype.startswith("float"):
        return [None for _ in floats]
    found = sweep([(result, trace.xp.ones_like(result))], floats)
    return [compute(found[x], bound) if x in found else None for x in floats]


def traced(case: Case) -> tuple[Trace, Value, dict[Value, Array]]:
    """The trace of a case, its result, and the arrays that its leaves are bound to."""
    trace = Trace()
    leaves = [leaf(trace, x.shape, str(x.dtype)) for x in case.inputs]
    result = trace.xp.asarray(case.call(trace.xp, *leaves))
    return trace, result, dict(zip(leaves, case.inputs, strict=True))
