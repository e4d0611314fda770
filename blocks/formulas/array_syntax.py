"""Maps the syntax of numpy arrays to blocks: method names and numpy functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from gradwire.blocks.errors import BuildError
from gradwire.blocks.names import snake_case
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.registry import registry

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

_NUMPY_NAMES = {
    "absolute": "Abs",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "power": "Pow",
    "negative": "Neg",
    "remainder": "Mod",
    "amax": "Max",
    "amin": "Min",
    "rint": "Round",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "logical_not": "Not",
    "var": "Variance",
    "concatenate": "Concat",
    "cumsum": "CumulativeSum",
    "all": "AllTrue",
    "any": "AnyTrue",
    "fabs": "Abs",
}
"""Block types for the numpy functions whose name differs."""
_OTHER_MEANING = {
    "dot": "Write np.matmul(a, b) for products of matrices, dot(a, b) for sums along the last axis",
    "einsum": 'Write einsum(a, b, subscripts="ij,jk->ik")',
    "gradient": "Write gradient(y, x) for the derivative of y, x[1:] - x[:-1] for differences",
    "floor_divide": "Write floor(a / b)",
    "divmod": "Write floor(a / b) and a % b",
    "std": "Write sqrt(variance(x))",
}
"""What to write for numpy functions without a block, or that differ from the block of that name."""
_OTHER_PARAMETERS = {
    "dim": "axis",
    "keepdim": "keepdims",
    "axes": "perm",
    "a_min": "min",
    "a_max": "max",
    "pad_width": "widths",
}
"""Names of parameters for what numpy or PyTorch call them."""
_ARRAY_ATTRIBUTES = ("shape", "dtype", "ndim", "size")


def block_class(kind: str) -> type[Block] | None:
    """The class of a block type in any spelling: ``MatMul``, ``mat_mul`` or ``matmul``."""
    if (cls := registry().find(kind)) is not None:
        return cls
    classes = registry().classes
    return {_normalised(name): cls for name, cls in classes.items()}.get(_normalised(kind))


def is_function(name: str) -> bool:
    """Whether formulas write a block type so: in snake case."""
    kind = block_class(name)
    return kind is not None and snake_case(kind.type_name()) == name


def nearest_functions(name: str, *others: str) -> str | None:
    """A suggestion of functions of blocks, in snake case, and of the ``others``; None without."""
    return did_you_mean(name, [*others, *map(snake_case, registry().classes)])


def numpy_block(name: str) -> type[Block]:
    """The block for the numpy function ``name``; raises BuildError if there is none."""
    cls = block_class(_NUMPY_NAMES.get(name, name))
    instead = _OTHER_MEANING.get(name)
    if cls is None or instead or not cls.outputs:
        near = nearest_functions(name) or "`gradwire blocks` lists all blocks."
        raise BuildError(
            f"There is no block for np.{name}.", next_step=f"{instead}." if instead else near
        )
    return cls


def own_parameter_names(cls: type[Block], parameters: Mapping[str, object]) -> dict[str, Any]:
    """The parameters under the names that the block has for them: ``axis`` for ``dim``."""
    known = cls.parameter_names()
    return {
        own if (own := _OTHER_PARAMETERS.get(name, name)) in known else name: value
        for name, value in parameters.items()
    }


def named_parameters(cls: type[Block], values: Sequence[object]) -> dict[str, Any]:
    """Positional parameters by name: ``x.reshape(2, 3)``, ``x.sum(0)``.

    Raises BuildError if there are too many.
    """
    names = cls.parameter_names()
    if len(names) == 1 and len(values) > 1:
        values = [tuple(values)]
    if len(values) > len(names):
        raise BuildError(
            f"Too many parameters for {cls.type_name()}.",
            expected=", ".join(names) or "none",
            got=f"{len(values)}",
        )
    return dict(zip(names, values, strict=False))


def bound_parameters(
    function: Callable[..., object], given: Sequence[object], inputs: int
) -> dict[str, Any]:
    """What is ``given`` to a numpy function by position after its inputs, by name."""
    names = list(inspect.signature(function).parameters)
    return dict(zip(names[inputs:], given[inputs:], strict=False))


_RUN = "Session(build(x)).run() computes it."
_GRADIENTS = "Session(build(loss(x))).backward().gradients has those of all variables."
_HERE = "Every array is on the processor; leave it out."
_FROZEN = "Write variable(name, value, trainable=False) or stop_gradient(x) to keep gradients out."
WRITE_INSTEAD = {
    "detach": "Write stop_gradient(x).",
    "backward": "Write Session(build(loss(x))).backward().",
    "grad": _GRADIENTS,
    "grad_fn": _GRADIENTS,
    "retain_grad": _GRADIENTS,
    "register_hook": "Put a GradientScale, GradientClip, GradientReversal or StopGradient there.",
    "requires_grad": _FROZEN,
    "is_leaf": "Write variable(name, value) for a leaf.",
    "item": _RUN,
    "numpy": _RUN,
    "tolist": _RUN,
    "data": "Write stop_gradient(x).",
    "cpu": _HERE,
    "cuda": _HERE,
    "to": _HERE,
    "device": _HERE,
    "clone": "Expressions never change: x itself will do.",
    "copy": "Expressions never change: x itself will do.",
    "float": 'Write cast(x, dtype="float32").',
    "double": 'Write cast(x, dtype="float64").',
    "long": 'Write cast(x, dtype="int64").',
    "astype": "Write cast(x, dtype=...).",
    "type": "Write cast(x, dtype=...).",
    "view": "Write x.reshape(...).",
    "ravel": "Write x.reshape(-1).",
    "clamp": "Write x.clip(min, max).",
    "unsqueeze": "Write expand_dims(x, axis=...).",
    "permute": "Write x.transpose(...).",
    "t": "Write x.T.",
    "mm": "Write x @ y.",
    "bmm": "Write x @ y.",
    "dot": "Write x @ y for products of matrices, dot(x, y) for sums along the last axis.",
    "std": "Write sqrt(variance(x)).",
    "expand": "Write broadcast(x, shape=...).",
    "repeat": "Write concat(x, x).",
    "at": "Write where(mask, value, x).",
    "isnan": "Write x != x, or is_finite(x).",
}
"""What to write for what tensors of other systems have."""


def is_in_place(name: str) -> bool:
    """Whether PyTorch calls a method that changes its tensor so: ``add_``, but not ``and_``."""
    return name.endswith("_") and not name.startswith("_") and not iskeyword(name[:-1])


def missing_attribute(name: str) -> str:
    """The message for an attribute that expressions don't have."""
    if name in _ARRAY_ATTRIBUTES:
        return f"An expression has no {name} yet: Session(build(x)).run() shows the array."
    if is_in_place(name):
        plain = name.removesuffix("_")
        again = f"Write x = x.{plain}(...)." if block_class(plain) else ""
        instead = WRITE_INSTEAD.get(plain, again)
        return f"An expression can't be changed in place, as {name!r} does. {instead}".strip()
    near = WRITE_INSTEAD.get(name) or nearest_functions(name, "named", "T") or ""
    return f"An expression has no attribute {name!r}. {near}".strip()


def _normalised(name: str) -> str:
    return name.replace("_", "").lower()
