"""What a session asks of an optimiser; those that there are, are in ``runtime.training``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class Optimiser(Protocol):
    """Anything that computes new values from values and gradients."""

    def update(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | None]
    ) -> dict[str, Array]:
        """New values of the updated variables, in their old dtypes.

        A variable whose gradient is None is not in the result: nothing updates it, not even
        weight decay.
        """
