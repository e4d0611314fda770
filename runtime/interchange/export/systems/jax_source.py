"""A module for JAX, which differentiates by jax.grad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.interchange.export.systems.autograd_source import System, autograd_module
from runtime.interchange.export.systems.jax_rows import JAX

if TYPE_CHECKING:
    from runtime.interchange.export.code import Array
    from runtime.interchange.export.content import Content


def _gradients(step: str) -> list[str]:
    signature = f", {step}=0" if step else ""
    given = f", {step}" if step else ""
    return [
        f'''def loss_and_gradients(
    parameters=PARAMETERS, inputs=INPUTS{signature}, heads=None, names=TRAINABLE
):
    """Losses, and the gradients of their sum; ``heads`` and ``names`` choose some of them.

    None is the gradient of a variable that no path connects with a loss.
    """
    heads = list(heads or CONNECTED)
    connected = [name for name in names if any(name in CONNECTED[head] for head in heads)]

    def total(wanted):
        found = losses({{**parameters, **wanted}}, inputs{given})
        found = {{head: found[head] for head in heads}}
        return sum(loss.sum() for loss in found.values()), found

    wanted = {{name: parameters[name] for name in connected}}
    (_, found), gradients = jax.value_and_grad(total, has_aux=True)(wanted)
    found = {{head: found[head] for head in heads}}  # jax sorts them
    return found, {{name: gradients.get(name) for name in names}}
'''
    ]


SYSTEM = System(
    JAX,
    ["import jax", "import jax.numpy as jnp", "from jax import lax"],
    "safetensors.flax",
    "jnp.uint32(step)",
    "jnp",
    _gradients,
    lists_connected=True,
)


def jax_module(content: Content, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The module, and its large arrays."""
    return autograd_module(content, arrays_file, SYSTEM)
