"""The table of PyTorch: models by file and by capture, compared with PyTorch's own numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.interchange.rows import Row

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def rows() -> Iterator[Row]:
    """One row for each model and way; nothing where torch is not installed."""
    try:
        import torch
    except ImportError:
        return
    import gradwire as gw
    from tests.interchange.torch_comparing import compared, from_file
    from tests.interchange.torch_models import NAMES, case

    def row(way: str, name: str, made: Callable[[], Imported]) -> Row:
        try:
            apart = compared(made(), *case(name))
        except Exception as error:
            return Row(f"{name} {way}", False, str(error)[:200])
        detail = f"loss {apart.loss:.0e}, gradients {apart.gradient:.0e}"
        return Row(f"{name} {way}", apart.agrees, " ".join((detail, *apart.differing)))

    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        for name in NAMES:
            path = Path(folder) / f"{name}.pt2"
            yield row("by file", name, lambda n=name, p=path: from_file(*case(n), p))
            yield row("captured", name, lambda n=name: _captured(gw, *case(n)))
    yield from _cuts(gw)


def _captured(gw, model, args):
    return gw.capture(model, *args)


def _cuts(gw) -> Iterator[Row]:
    """A row for each way to lose gradient: the stop that the capture puts up for it."""
    from tests.interchange.torch_cuts import CUTS, Model, X

    for name, way in CUTS.items():
        with warnings.catch_warnings(action="ignore"):  # torch.tensor(x) advises against itself
            remarks = gw.capture(Model(way), X).remarks
        found = [f"{r.block} at {r.written}" for r in remarks if r.kind == "cut"]
        agrees = remarks[-1].text.startswith("Agrees with PyTorch")
        passed = agrees and len(found) == 1 and found[0].startswith(name.partition(" ")[0])
        yield Row(f"cut by {name}", passed, "; ".join(found))
