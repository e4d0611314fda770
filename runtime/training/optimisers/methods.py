"""The arithmetic of each method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram.training import (
    AdadeltaMethod,
    AdagradMethod,
    AdamaxMethod,
    AdamMethod,
    AdamWMethod,
    LionMethod,
    NAdamMethod,
    RAdamMethod,
    RMSpropMethod,
    SGDMethod,
)
from gradwire.runtime.training.optimisers.adams import (
    AdamArithmetic,
    AdamaxArithmetic,
    NAdamArithmetic,
    RAdamArithmetic,
)
from gradwire.runtime.training.optimisers.adaptive import (
    AdadeltaArithmetic,
    AdagradArithmetic,
    RMSpropArithmetic,
)
from gradwire.runtime.training.optimisers.descent import LionArithmetic, SGDArithmetic

if TYPE_CHECKING:
    from gradwire.runtime.diagram.training import AnyMethod
    from gradwire.runtime.training.optimisers.arithmetic import Arithmetic

_ARITHMETIC: dict[type[AnyMethod], type[Arithmetic[Any]]] = {
    SGDMethod: SGDArithmetic,
    AdamMethod: AdamArithmetic,
    AdamWMethod: AdamArithmetic,
    RMSpropMethod: RMSpropArithmetic,
    AdagradMethod: AdagradArithmetic,
    AdadeltaMethod: AdadeltaArithmetic,
    LionMethod: LionArithmetic,
    NAdamMethod: NAdamArithmetic,
    RAdamMethod: RAdamArithmetic,
    AdamaxMethod: AdamaxArithmetic,
}


def arithmetic_of(method: AnyMethod) -> Arithmetic[Any]:
    """How a method moves variables. Raises RunError for options that exclude each other."""
    return _ARITHMETIC[type(method)](method)
