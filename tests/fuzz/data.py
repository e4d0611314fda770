"""Tries damaged data files: they are read as what they say, or refused with their place."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.data.files.suggesting import suggested
from gradwire.runtime.data.opening import open_rows
from gradwire.runtime.data.rows import PHASES
from tests.fuzz.files import damaged
from tests.fuzz.runner import Program

if TYPE_CHECKING:
    from random import Random

_DTYPES = ("float16", "float32", ">f8", "int64", "uint8", "bool")
_TEXTS = ("red", "blue", '"a, b"', '"say ""so"""', "é", "")


def _arrays(rng: Random) -> dict[str, Any]:
    numbers = np.random.default_rng(rng.randrange(2**32))
    count = rng.randint(1, 9)
    found = {}
    for name in ("x", "y", "z/part")[: rng.randint(1, 3)]:
        shape = (count, *(rng.randint(1, 3) for _ in range(rng.randint(0, 2))))
        found[name] = (9 * numbers.standard_normal(shape)).astype(rng.choice(_DTYPES))
    return found


def _table(rng: Random) -> bytes:
    separator, end = rng.choice((",", ";", "\t")), rng.choice(("\n", "\r\n"))
    width = rng.randint(1, 4)
    texts = [rng.random() < 0.3 for _ in range(width)]
    lines = [separator.join(f"c{i}" for i in range(width))] if rng.random() < 0.8 else []
    for _ in range(rng.randint(0, 9)):
        fields = (rng.choice(_TEXTS) if text else f"{rng.gauss(0, 9):.3g}" for text in texts)
        lines.append(separator.join(fields))
    return end.join(lines).encode(rng.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")))


def _content(rng: Random, kind: str) -> bytes:
    """The bytes of a sound file of a format."""
    if kind == "csv":
        return _table(rng)
    arrays, stored = _arrays(rng), io.BytesIO()
    if kind == "npy":
        np.save(stored, next(iter(arrays.values())))
    elif kind == "npz":
        rng.choice((np.savez, np.savez_compressed))(stored, **arrays)
    else:
        native = {name: a.astype(a.dtype.newbyteorder("=")) for name, a in arrays.items()}
        return save({name: np.ascontiguousarray(array) for name, array in native.items()})
    return stored.getvalue()


def data_case(rng: Random) -> str:
    """A damaged data file, looked at, opened and read."""
    kind = rng.choice(("csv", "npy", "npz", "safetensors"))
    data = _content(rng, kind)
    if rng.random() < 0.9:
        data = damaged(rng, data, lambda: _content(rng, kind))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"d.{kind}"
        path.write_bytes(data)
        try:
            block = suggested(path, Path(folder)).with_parameters(
                batch=rng.choice((0, 1, 2)),
                validation=rng.choice((0.0, 0.4)),
                seed=rng.randrange(9),
            )
            rows = open_rows(block, Path(folder))
            for port in block.output_names():
                for phase in PHASES:
                    batch = rows.batch(port, rng.randrange(99), phase)
                    assert batch.shape == rows.shape(port, phase), (batch.shape, port, phase)
                    assert batch.dtype == rows.dtype(port), (batch.dtype, port)
        except FileError as error:
            assert error.what and error.path, f"without a place: {error!r}"
            return "refused"
        except GradwireError as error:
            assert str(error)
            return "not used"
        return "read"


PROGRAMS = (Program("data", "a damaged data file is read or refused with its place", data_case),)
