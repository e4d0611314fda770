"""Random diagrams some of whose wires run through a tree, and the same without one."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradwire.blocks.library.containers import Pack, Unpack
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.paths import matches, parse_path
from gradwire.runtime.diagram.paths import PortName
from tests.runtime.flow.specimens import specimen

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram

KEYS = ("a", "b", "enc/w", "enc/b", "enc/deep/w", "dec/w")
PATTERNS = ("a", "enc", "enc/*", "*/w", "**/w", "d*", "b")


@dataclass(frozen=True)
class Graft:
    """``treed`` leads wires through pack, stop and parts; ``plain`` has a stop on each instead.

    ``leaves`` are the wires by the path that they have in the tree, ``stopped`` those of the
    paths that the stop selects.
    """

    treed: Diagram
    plain: Diagram
    leaves: dict[str, str]
    stopped: tuple[str, ...]


def graft(seed: int) -> Graft | None:
    """A graft on a specimen; None where too few wires can run through one tree."""
    rng = random.Random(seed)
    diagram = specimen(seed)
    page = diagram.main
    order = {name: place for place, name in enumerate(page.blocks)}
    cut = rng.randint(1, len(order))
    crossing = [t for t, s in page.wires.items() if order[s.block] < cut <= order[t.block]]
    if len(crossing) < 2:
        return None
    chosen = rng.sample(crossing, min(len(crossing), rng.randint(2, len(KEYS))))
    paths = rng.sample(KEYS, len(chosen))
    stop = StopGradient(only=rng.sample(PATTERNS, rng.randint(0, 2)), invert=rng.random() < 0.3)
    plain, treed, wires = dict(page.blocks), dict(page.blocks), dict(page.wires)
    treed |= {"pack": Pack(keys=paths), "stop": stop, "parts": Unpack(paths=paths)}
    through = {**wires, PortName("stop", "x"): PortName("pack", "out"),
               PortName("parts", "x"): PortName("stop", "out")}  # fmt: skip
    stopped = tuple(path for path in paths if selects(stop, path))
    for i, (path, target) in enumerate(zip(paths, chosen, strict=True)):
        through[PortName("pack", f"items.{i}")] = page.wires[target]
        through[target] = PortName("parts", path)
        if path in stopped:
            plain[f"stop{i}"] = StopGradient()
            wires[PortName(f"stop{i}", "x")] = page.wires[target]
            wires[target] = PortName(f"stop{i}", "out")
    return Graft(
        diagram.with_page("main", replace(page, blocks=treed, wires=through)),
        diagram.with_page("main", replace(page, blocks=plain, wires=wires)),
        {path: str(target) for path, target in zip(paths, chosen, strict=True)},
        stopped,
    )


def selects(stop: StopGradient, path: str) -> bool:
    """Whether a stop stops the leaf at a path."""
    return any(matches(pattern, parse_path(path)) for pattern in stop.only or ()) is not stop.invert
