"""The diagrams of ``assets/diagrams``: where they lie, and which of them are twins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.diagram import Diagram, PortName, load

SUFFIX = ".gradwire.json"
FOLDER = Path(str(files("gradwire.assets") / "diagrams"))
NAMES = sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))

TRAINING = tuple(name for name in NAMES if name.startswith("training_"))
"""Diagrams with a recipe; ``assets/studies`` says what their variants differ in."""

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


def stops(name: str, *, opened: bool = False) -> list[str]:
    """The StopGradient blocks of an example's main page; those that are open too if ``opened``."""
    blocks = diagram(name).main.blocks.items()
    found = {stop: block for stop, block in blocks if isinstance(block, StopGradient)}
    return [stop for stop, block in found.items() if opened or not block.open]


def wires_from(name: str, block: str) -> list[PortName]:
    """The wires that leave a block of an example's main page, by their targets."""
    return [target for target, source in diagram(name).main.wires.items() if source.block == block]
