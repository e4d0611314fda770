"""What imports an equation: functions of the stage, the parameters, and the values of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.operands import LazyBroadcast
    from gradwire.runtime.interchange.importing.staged import Staged

Elementwise: TypeAlias = "Callable[..., Staged]"
"""Takes values that broadcast to the shape of the result, which may itself be narrower."""
Lazy: TypeAlias = "Callable[..., LazyBroadcast]"
"""Takes values that are broadcast late, and gives one."""
Whole: TypeAlias = "Callable[..., Staged | Sequence[Staged]]"
"""Takes values in their full shapes."""
