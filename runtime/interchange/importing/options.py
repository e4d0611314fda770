"""What a user may say about an import, and how every importer ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.blocks.nearest import did_you_mean

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


@dataclass(frozen=True)
class ImportOptions:
    """How to import a model; the defaults suit most files."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """Shapes of inputs, by name, where the file leaves lengths open."""
    loss: str = ""
    """The output to minimise; empty for the only output, if that is a single float."""
    training: bool = False
    """Whether blocks with two modes, such as BatchNorm and Dropout, are as in training."""
    seed: int = 0
    """Seed of the numbers that inputs get where the file has none."""

    def example(self, index: int, shape: Shape, dtype: str) -> Array:
        """Numbers for the input with this index: standard normal floats, zeros of other dtypes."""
        if not dtype.startswith("float"):
            return np.zeros(shape, dtype)
        draw = np.random.default_rng([self.seed, index])
        return draw.standard_normal(shape).astype(dtype)


DEFAULTS = ImportOptions()
_DIGITS = 10
"""Digits that a length may have."""


def parse_shape(text: str) -> tuple[str, Shape]:
    """Name and lengths of ``x = 2, 3``; raises ValueError with the text where it is no shape."""
    name, equals, lengths = text.rpartition("=")
    parts = [part.strip() for part in lengths.split(",") if part.strip()]
    numbers = all(part.isascii() and part.isdecimal() and len(part) <= _DIGITS for part in parts)
    if not equals or not name.strip() or not numbers:
        raise ValueError(text)
    return name.strip(), tuple(map(int, parts))


def conclude(
    stage: Stage, outputs: Mapping[str, Staged], options: ImportOptions = DEFAULTS
) -> Imported:
    """The import of a model with these outputs: a Loss for one of them, a Display for the others.

    Raises FileError where the chosen loss is no output, or no single float.
    """
    chosen = options.loss
    if chosen and chosen not in outputs:
        raise FileError(
            f"The model has no output {chosen!r}.",
            expected=f"one of {', '.join(outputs)}",
            next_step=did_you_mean(chosen, outputs),
        )
    if not chosen and len(outputs) == 1 and not stage.has_loss:
        (name,) = outputs
        chosen = name if _is_loss(outputs[name]) else ""
    for name, x in outputs.items():
        if name != chosen:
            stage.output(x, name)
        elif _is_loss(x):
            stage.loss(x, name)
        else:
            raise FileError(
                f"The output {name!r} can't be a loss.",
                expected="a single float",
                got=f"{x.dtype} of shape {list(x.shape)}",
                next_step="Import without a loss, then add one in the editor.",
            )
    if not (chosen or stage.has_loss):
        stage.remark("note", "The model has no loss: add a Loss block to see gradient flow.")
    return stage.finish()


def _is_loss(x: Staged) -> bool:
    return x.is_float and x.size == 1
