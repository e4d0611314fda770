"""States of wires as int8 codes for arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.flow import STATES, State

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Flags

NO_RESULT = 0
"""Code of a wire that no result covers; it is drawn plain."""
CODES: Mapping[State, int] = MappingProxyType({state: i for i, state in enumerate(STATES, start=1)})
"""The int8 that stands for each state."""
STATE_OF: Mapping[int, State] = MappingProxyType({code: state for state, code in CODES.items()})
"""The state that a code stands for."""


def flags_of(has: Callable[[State], bool]) -> Flags:
    """Whether each code stands for a state that ``has`` something, to be indexed with codes."""
    return np.array([False, *map(has, STATES)])
