"""What the blocks of a page cost in a measured call, as heat and as labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import InstancePath
from gradwire.runtime.engine.profile import BETWEEN_BLOCKS
from gradwire.runtime.publish import bytes_text, time_text

if TYPE_CHECKING:
    from gradwire.runtime.engine.profile import Profile


class HeatMeasure(StrEnum):
    """What heat stands for."""

    TIME = "time"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class BlockCost:
    """Seconds and bytes written in one call by a block, or by everything inside a page block.

    Work that several blocks share is divided evenly among them; then ``is_estimate`` is set.
    """

    seconds: float = 0.0
    bytes: float = 0.0
    is_estimate: bool = False

    def value(self, measure: HeatMeasure) -> float:
        """Seconds or bytes."""
        return self.seconds if measure is HeatMeasure.TIME else self.bytes


@dataclass(frozen=True)
class PageCosts:
    """The costs of a page's blocks by name; blocks without a step in the call have none."""

    blocks: Mapping[str, BlockCost]
    measure: HeatMeasure = HeatMeasure.TIME

    @cached_property
    def most(self) -> float:
        """The largest value, in seconds or bytes; at the upper end of the scale of heat."""
        return max((cost.value(self.measure) for cost in self.blocks.values()), default=0.0)

    def heat(self, block: str) -> float:
        """0 … 1: the square root of the value's share of the largest, so that small ones show."""
        cost, most = self.blocks.get(block), self.most
        return math.sqrt(cost.value(self.measure) / most) if cost is not None and most else 0.0

    def label(self, block: str) -> str:
        """The value with its unit, such as ``12.5 µs``; empty for a block without costs."""
        cost = self.blocks.get(block)
        if cost is None:
            return ""
        return ("≈ " if cost.is_estimate else "") + value_text(
            cost.value(self.measure), self.measure
        )

    def hottest(self, count: int) -> list[str]:
        """The names of the most expensive blocks, the first one first."""
        by_value = sorted(self.blocks, key=lambda name: -self.blocks[name].value(self.measure))
        return [name for name in by_value if self.blocks[name].value(self.measure)][:count]


def value_text(value: float, measure: HeatMeasure) -> str:
    """A value with its unit."""
    return time_text(value) if measure is HeatMeasure.TIME else bytes_text(round(value))


def page_costs(
    profile: Profile, use: InstancePath, measure: HeatMeasure = HeatMeasure.TIME
) -> PageCosts:
    """The costs of the blocks on the page used at ``use``, with all that they contain."""
    found: dict[str, BlockCost] = {}
    for cost in profile.costs:
        owners = [InstancePath(path).block_below(use) for path in cost.blocks]
        for name in {owner for owner in owners if owner is not None and owner != BETWEEN_BLOCKS}:
            share = owners.count(name) / len(owners)
            old = found.get(name, BlockCost())
            found[name] = BlockCost(
                old.seconds + share * cost.seconds,
                old.bytes + share * cost.bytes,
                old.is_estimate or share < 1.0,
            )
    return PageCosts(found, measure)
