"""Damaged files: what is read is whole or refused with its place, in bounded time and memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.runtime.diagram import MAIN, Diagram, Page, dumps, load, loads, save
from gradwire.runtime.diagram.files.tensors import MAX_INLINE
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import check_contracts, contracts_of, observe, parse_contracts
from gradwire.runtime.flow.analyse import analyse
from tests.fuzz.drawing import drawn
from tests.fuzz.runner import Program

if TYPE_CHECKING:
    from random import Random

ROOT = Path(__file__).parents[2]
SAVED = (
    *sorted((ROOT / "assets" / "diagrams").glob("*.gradwire.json")),
    *sorted((ROOT / "tests/runtime/diagram/files/golden").glob("*.gradwire.json")),
)
ODD = (
    "null", "true", "-1", "0", "1e999", "-0.0", "1" * 400, "99999999999", '"nan"', '""',
    '"\\u0000"', '"\\ud800"', "[]", "{}", "[[[[]]]]", "[1, [2]]", '{"type": "Mul"}',
    '{"a": 1, "a": 2}', "[" * 200 + "]" * 200, '"/dev/zero"', '"../x"', "NaN",
    "Infinity", "\x00", "\ufeff", "'", ",",
)  # fmt: skip
"""What is put in the place of a value."""
VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
CONTRACT = re.compile(r"\w+|[^\w\s]")
WORDS = (
    "flows", "blocked", "updates", "finite", "nonzero", "→", "->", "(", ")", "[", "?", "!", "*",
    "**", ">", "<", "0", "1e9", "#", "loss", "w0", " " * 300, "and", "=", "…", "\u2028", "\\", "/",
    ".", ":", ",", "nan",
)  # fmt: skip
LINES = ("flows(loss -> w)", "blocked(loss0 -> v*)", "nonzero(loss* -> w0)", "finite(* -> *)",
         "updates(opt_G -> [a-w]?)  # a comment")  # fmt: skip


@cache
def _saved() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in SAVED)


def _text(rng: Random) -> bytes:
    if rng.random() < 0.5:
        return rng.choice(_saved())
    return dumps(drawn(rng)).encode()


def damaged(rng: Random, data: bytes, other: Callable[[], bytes]) -> bytes:
    """The data with one to four things wrong."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, end = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
        match rng.randrange(24):
            case 0:
                data = data[:at]
            case 1 if data:
                place = rng.randrange(len(data))
                data = (
                    data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
                )
            case 2:
                data = (
                    data[:at]
                    + bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
                    + data[at:]
                )
            case 3:
                data = data[:at] + data[at + rng.randint(1, 40) :]
            case 4:
                data = data[:at] + data[min(at, end) : min(at, end) + 200] + data[at:]
            case 5:
                source = other()
                data = data[:at] + source[rng.randrange(len(source) + 1) :]
            case _:
                data = _with_other_value(rng, data)
    return data


def _with_other_value(rng: Random, data: bytes) -> bytes:
    """One JSON value is another: an odd one, or one from elsewhere in the text."""
    found = list(VALUE.finditer(data))
    if not found:
        return data
    chosen = rng.choice(found)
    new = rng.choice(ODD).encode() if rng.random() < 0.5 else rng.choice(found)[0]
    return data[: chosen.start()] + new + data[chosen.end() :]


def read_and_run(read: Callable[[], Diagram]) -> str:
    """Read a diagram and do all that opening it does; "refused" where it is."""
    try:
        diagram = read()
    except FileError as error:
        assert error.what and (error.path or error.line), f"without a place: {error!r}"
        return "refused"
    try:
        text = dumps(diagram)
        again = loads(text)
        assert dumps(again) == text, "written and read again it is written differently"
        # A parameter that is NaN does not equal itself.
        assert again == diagram or '"nan"' in text, "written and read again it differs"
    except FileError as error:
        raise AssertionError(f"read, but not writable: {error}") from error
    _run(diagram)
    return "read"


def _run(diagram: Diagram) -> None:
    session = Session(diagram, partial=True)
    for problem in session.diagnostics:
        assert problem.what and problem.severity
    try:
        if session.losses:
            session.backward(adjoints="stops")
        else:
            session.run()
        check_contracts(contracts_of(diagram), None, analyse(session.program))
    except GradwireError as error:
        assert str(error)


def diagram_case(rng: Random) -> str:
    """A damaged diagram, read from a text or from a file."""
    data = damaged(rng, _text(rng), lambda: _text(rng))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.gradwire.json"
        path.write_bytes(data)
        return read_and_run(lambda: load(path))


def _with_arrays(rng: Random) -> Diagram:
    numbers = np.random.default_rng(rng.randrange(2**32))
    dtypes = ("float16", "float32", "float64", "int64", "uint8", "bool")
    blocks: dict[str, Any] = {}
    for i in range(rng.randint(1, 3)):
        dtype = rng.choice(dtypes)
        array = (10 * numbers.standard_normal(MAX_INLINE + rng.randint(1, 40))).astype(dtype)
        blocks[f"a{i}"] = rng.choice((Variable, Constant))(value=array, dtype=dtype)
    return Diagram({MAIN: Page(blocks)})


def array_case(rng: Random) -> str:
    """A damaged file of arrays, or two that changed places; never other numbers than were saved."""
    diagram = _with_arrays(rng)
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / "d.gradwire.json", Path(folder) / "other.gradwire.json"
        save(diagram, path)
        (stored,) = Path(folder).glob("d.*.safetensors")
        data = stored.read_bytes()
        if rng.random() < 0.1:
            save(_with_arrays(rng), other)
            (elsewhere,) = Path(folder).glob("other.*.safetensors")
            stored.write_bytes(elsewhere.read_bytes())
        else:
            stored.write_bytes(damaged(rng, data, lambda: data))
        unchanged = stored.read_bytes() == data
        try:
            found = load(path)
        except FileError as error:
            assert not unchanged and error.path, error
            return "refused"
        assert found == diagram, "other numbers than were saved"
        return "read" if unchanged else "harmless"


def contract_case(rng: Random) -> str:
    """A damaged contract, parsed and checked."""
    text = "\n".join(rng.choice(LINES) for _ in range(rng.randint(1, 3)))
    for _ in range(rng.randint(1, 6)):
        words = CONTRACT.findall(text) or [""]
        at = rng.randrange(len(text) + 1)
        word = rng.choice((*WORDS, *words)) * rng.choice((1, 1, 1, 30))
        cut = rng.choice((0, 0, 1, len(word)))
        text = text[:at] + word + text[at + cut :]
    try:
        stated = parse_contracts(text, "d.contracts")
    except FileError as error:
        assert error.what and error.line, f"without a line: {error!r}"
        return "refused"
    session = Session(drawn(rng))
    try:
        observed = observe(session) if rng.random() < 0.5 else None
        for outcome in check_contracts(stated, observed, analyse(session.program)):
            assert outcome.kept in (True, False)
    except GradwireError as error:
        assert str(error)
        return "not checked"
    return "checked"


PROGRAMS = (
    Program("files", "a damaged diagram is read or refused with its place", diagram_case),
    Program("arrays", "a damaged file of arrays never gives other numbers", array_case),
    Program("contracts", "a damaged contract is checked or refused with its line", contract_case),
)
