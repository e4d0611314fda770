"""Numbers of one diagram from plans of two requests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def assert_near(found: Array, wanted: Array) -> None:
    """As plans of other requests give it: last digits may differ, also of what cancels."""
    most = np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * most)
