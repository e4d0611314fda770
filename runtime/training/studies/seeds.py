"""Seeds: what decides everything random in a training."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.library.data import Dataset
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.engine import Session

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.engine import Engine

_STEPS_OF_A_SEED = 1 << 20
"""How far apart the steps of two seeds begin: random blocks draw by the step."""
_SEEDS = 2**32


def seeded(diagram: Diagram, seed: int, *, engine: str | Engine = "numpy") -> Session:
    """A session in which everything random depends on ``seed``; 0 is the diagram as it is.

    It decides the values that initialisers draw, the seeds of data sets, and the step from which
    random blocks go on.
    """
    if seed == 0:
        return Session(diagram, engine=engine)
    for page, content in diagram.pages.items():
        blocks = {name: _with_seed(block, seed) for name, block in content.blocks.items()}
        diagram = diagram.with_page(page, replace(content, blocks=blocks))
    session = Session(diagram, engine=engine)
    program = session.program
    for path, source in program.sources("variable").items():
        if isinstance(source, Variable) and path in program.leaves and source.value is None:
            drawn = source.with_parameters(seed=_mixed(source.seed, path, seed))
            session.set(path, np.asarray(drawn.data(program.leaves[path].value.shape)))
    session.step_number = seed * _STEPS_OF_A_SEED
    return session


def _with_seed(block: Block, seed: int) -> Block:
    if isinstance(block, Dataset):
        return block.with_parameters(seed=_mixed(block.seed, "", seed))
    return block


def _mixed(own: int | None, path: str, seed: int) -> int:
    """A seed from a block's own, or from its path where it has none, and that of the study."""
    entropy = zlib.crc32(path.encode("utf-8", "surrogatepass")) if own is None else own
    return int(np.random.SeedSequence([entropy, seed]).generate_state(1)[0]) % _SEEDS
