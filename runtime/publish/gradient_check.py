"""Gradient checks: lines for a reader, and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gradwire.blocks import Tensor

if TYPE_CHECKING:
    from gradwire.runtime.flow import Check


def gradient_lines(checks: Sequence[Check]) -> list[str]:
    """How many blocks agree with differences, and each that does not."""
    if not checks:
        return []
    agreed = sum(check.agrees for check in checks)
    head = f"✓ {agreed} of {len(checks)} blocks have the derivative that a central difference gives"
    return [head, *(check.sentence for check in checks if not check.agrees)]


def gradients_json(checks: Mapping[str, Sequence[Check]]) -> list[dict[str, Any]]:
    """One record a block and file."""
    return [
        {
            "file": file,
            "block": check.block,
            "agrees": check.agrees,
            "wrong": check.is_wrong,
            "rule": Tensor(check.rule).to_json(),
            "difference": Tensor(check.difference).to_json(),
            "excuse": check.excuse or None,
        }
        for file, several in checks.items()
        for check in several
    ]
