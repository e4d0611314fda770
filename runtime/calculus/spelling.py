"""How targets write a primitive: a part of its row, which exporters, pages and compilers read."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from gradwire.blocks.errors import BlockDefinitionError


class Refused(NamedTuple):
    """Why a target can't write a primitive."""

    reason: str


Text: TypeAlias = "str | Refused | None"
Formula: TypeAlias = "str | tuple[str, str] | None"


class Spelling(NamedTuple):
    """How targets write a primitive: ``a``, ``b``, ``c`` are its inputs, and attributes have their
    names. What takes more than an expression is in a table of the target, by the primitive's name.
    """

    numpy: Text = None
    torch: Text = None
    jax: Text = None
    """Python, with ``np``; ``torch`` and ``F``; ``jax``, ``jnp`` and ``lax``."""
    onnx: Text = None
    """Operators, one within the other: ``Mul(a, Exp(b))``."""
    javascript: str | None = None
    """An expression of numbers; ``f`` rounds to the dtype of the result between two steps."""
    scalar: str | None = None
    """An expression of Python's ``math``, for one element; machine code is made of it too."""
    latex: Formula = None
    plain: Formula = None
    """The name of a function, or how its inputs are written: ``b:product`` is in brackets unless it
    binds at least as a product does. Beside it is what the whole binds as, if it is no atom.
    """


def require_expressions(name: str, spelling: Spelling) -> None:
    """Raise BlockDefinitionError where what is written as Python's expressions is none."""
    for target in ("numpy", "torch", "jax", "onnx", "scalar"):
        text = getattr(spelling, target)
        try:
            if isinstance(text, str):
                compile(text, target, "eval")
        except (SyntaxError, ValueError) as error:
            raise BlockDefinitionError(
                f"The spelling of {name} for {target!r} is not an expression: {text!r}.",
                next_step="Write it as on the right of an assignment in Python.",
            ) from error


def shared(call: str, **others: Any) -> Spelling:
    """A call that NumPy, PyTorch and JAX have by one name."""
    return Spelling(f"np.{call}", f"torch.{call}", f"jnp.{call}")._replace(**others)


def function(name: str, short: str = "", **others: Any) -> Spelling:
    """A function of one input that has its name, or a shorter one, in all libraries."""
    short = short or name
    texts = {"onnx": f"{short.capitalize()}(a)", "javascript": f"Math.{short}(a)"}
    return shared(f"{name}(a)", **(texts | others))


def operator(sign: str, **others: Any) -> Spelling:
    """An operator of Python, and of the page's script."""
    texts = {"javascript": f"a{sign}b", "scalar": f"(a{sign}b)"}
    return Spelling(*[f"a {sign} b"] * 3)._replace(**(texts | others))


def refused(reason: str) -> Spelling:
    """What no target writes."""
    why = Refused(reason)
    return Spelling(why, why, why, why)
