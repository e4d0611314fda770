"""Recurrent layers that can be added like a block: a Scan, with its cell as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.docstrings import docstring
from gradwire.runtime.build import build
from gradwire.runtime.build import input as source
from gradwire.runtime.diagram import inserted
from gradwire.runtime.recurrent import gru, lstm, rnn

if TYPE_CHECKING:
    from gradwire.blocks.formulas.expressions import Expression
    from gradwire.runtime.diagram import Change, Diagram, Point

LAYERS: Mapping[str, Callable[..., Expression]] = {"LSTM": lstm, "GRU": gru, "RNN": rnn}
"""What makes each layer, by the name that the palette shows."""
_STEPS, _UNITS = 8, 4


def summary(layer: str) -> str:
    """What a layer computes, in a line."""
    return docstring(LAYERS[layer]).partition("\n")[0].replace("``", "")


def adding_layer(diagram: Diagram, page: str, layer: str, at: Point) -> tuple[str, Change]:
    """The name of a new layer, and the change that adds it with its top left at ``at``."""
    paste = inserted(diagram, page, _made(layer), at, label=f"Add {layer}")
    (name,) = paste.blocks
    return name, paste.change


def _made(layer: str) -> Diagram:
    """A diagram of the layer alone, whose states begin at zero and whose x is open."""
    zeros = {"h": np.zeros(_UNITS)} | ({"c": np.zeros(_UNITS)} if layer == "LSTM" else {})
    made = LAYERS[layer](source("x"), steps=_STEPS, units=_UNITS, name=layer.lower(), **zeros)
    diagram = build(made)
    name = layer.lower()
    return diagram.with_page("main", replace(diagram.main, blocks={name: diagram.main.blocks[name]},
                                             wires={}, layout={}, routes={}))  # fmt: skip
