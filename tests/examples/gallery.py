"""The diagrams of ``assets/diagrams``: where they lie, and which of them are twins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from blocks.library.gradient import StopGradient
from runtime.diagram import Diagram, PortName, load

SUFFIX = ".gradwire.json"
FOLDER = Path(str(files("assets") / "diagrams"))
NAMES = sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))

TWINS: Mapping[str, tuple[str, ...]] = {
    "adversarial_training": ("perturbation",),
    "contrastive_divergence": ("reconstruction",),
    "dqn_target": ("target",),
    "em": ("weights",),
    "reinforce_baseline": ("advantage",),
    "simsiam": ("target_1", "target_2"),
}
"""Diagrams drawn with and without their stops, and the blocks that make the difference."""


def path(name: str) -> Path:
    """The file of an example."""
    return FOLDER / f"{name}{SUFFIX}"


@cache
def diagram(name: str) -> Diagram:
    """An example, read once."""
    return load(path(name))


def stops(name: str) -> list[str]:
    """The StopGradient blocks of an example's main page."""
    blocks = diagram(name).main.blocks
    return [name for name, block in blocks.items() if isinstance(block, StopGradient)]


def wires_from(name: str, block: str) -> list[PortName]:
    """The wires that leave a block of an example's main page, by their targets."""
    return [target for target, source in diagram(name).main.wires.items() if source.block == block]
