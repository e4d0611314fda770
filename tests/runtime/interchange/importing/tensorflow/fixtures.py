"""What TensorFlow wrote, unpacked: graphs as files, with the numbers that it found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).parents[1] / "data"


class Archive:
    """The entries of an ``npz`` file by case: ``tanh/graph`` is ``graph`` of ``tanh``."""

    def __init__(self, name: str) -> None:
        with np.load(DATA / name, allow_pickle=False) as stored:
            self._entries = {key: stored[key] for key in stored}

    @property
    def cases(self) -> list[str]:
        return sorted({key.partition("/")[0] for key in self._entries})

    def case(self, name: str) -> Mapping[str, NDArray[Any]]:
        start = f"{name}/"
        return {k.removeprefix(start): a for k, a in self._entries.items() if k.startswith(start)}


def graph_file(case: Mapping[str, NDArray[Any]], folder: Path) -> Path:
    path = folder / "graph.pb"
    path.write_bytes(case["graph"].tobytes())
    return path


def difference(got: NDArray[Any], wanted: NDArray[Any]) -> float:
    """The largest difference, relative to the largest number; to 1e-3 where all are smaller."""
    return float(np.max(np.abs(got - wanted)) / max(float(np.max(np.abs(wanted))), 1e-3))
