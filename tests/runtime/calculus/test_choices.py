"""The table of choices against PyTorch and JAX: no difference is missing, no row is idle."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from blocks import registry
from runtime.calculus.choices import CHOICES, Choice, choices_of, conventions, notes, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.runtime.calculus.peers import Comparison
    from tests.runtime.calculus.tracing import Array

Differences = dict[tuple[str, str, str], list[tuple[str, "Array", tuple["Array", ...]]]]

ROOT = Path(__file__).parents[3]
FLOATS = ("float32", "float64")
INTEGERS = ("bool", "uint8", "int64")
INSTALLED = ("PyTorch", "JAX")


@pytest.fixture(scope="module")
def installed() -> Any:
    pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
    jax = pytest.importorskip("jax", reason="JAX is not installed", exc_type=ImportError)
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def differ(ours: Array, theirs: Array) -> Array:
    """Where two arrays are not the same numbers but for rounding; the sign of 0 is ignored."""
    bound = 1e-10 if {ours.dtype, theirs.dtype} == {np.dtype("float64")} else 2e-5
    with np.errstate(all="ignore"):
        ours, theirs = (x.astype(float) if x.dtype == bool else x for x in (ours, theirs))
        return ~np.isclose(ours, theirs, rtol=bound, atol=bound, equal_nan=True)


def places(found: Array, count: int) -> Array:
    """By place along the first axis; everything is one place where the results share it."""
    if not found.ndim or len(found) != count:
        return np.broadcast_to(found.any(), (count,))
    return found.any(axis=tuple(range(1, found.ndim)))


def subnormal(given: Comparison, count: int) -> Array:
    """Places that JAX takes as 0: on a CPU it flushes subnormal numbers."""
    found = np.zeros(count, bool)
    for x in given.inputs.values():
        if x.dtype.kind == "f" and len(x) == count:
            found |= places((np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0), count)
    return found


@pytest.fixture(scope="module")
def differences(installed: None) -> Differences:
    """By block, system and quantity: the comparison, where it differs, and the inputs."""
    from tests.runtime.calculus.peers import comparisons, of_integers

    found = defaultdict(list)
    for dtype in (*FLOATS, *INTEGERS):
        for given in comparisons(dtype) if dtype in FLOATS else of_integers(dtype):
            inputs, ours = tuple(given.inputs.values()), given.of("Gradwire")
            for system in given.functions:
                if (dtype, system) == ("float32", "JAX"):
                    continue  # as in float64, and half of the time
                if dtype in INTEGERS and given.refused(system):
                    continue
                for quantity, name, wrong in _compared(given, ours, system):
                    found[given.name, system, quantity].append((name, wrong, inputs))
    return dict(found)


def _compared(
    given: Comparison, ours: dict[str, Array], system: str
) -> Iterator[tuple[str, str, Array]]:
    """Each quantity of a comparison, its name, and the places where it differs."""
    theirs = given.of(system)
    assert theirs.keys() == ours.keys(), given
    count = len(next(iter(given.inputs.values())))
    ignored = subnormal(given, count) if system == "JAX" else np.zeros(count, bool)
    dtypes = ours["value"].dtype, theirs["value"].dtype
    yield "dtype", f"{given} {dtypes}", np.full(count, dtypes[0] != dtypes[1])
    for name, numbers in ours.items():
        assert numbers.shape == theirs[name].shape, (str(given), system, name)
        quantity = name.split()[0].replace("second", "second derivative")
        wrong = places(differ(numbers, theirs[name]), count) & ~ignored
        yield quantity, f"{given} {name}", wrong


def test_every_difference_is_a_choice(differences: Differences) -> None:
    """A difference that is not in the table is a fault, or a row that is missing."""
    unknown = []
    for (block, system, quantity), found in differences.items():
        for name, wrong, inputs in found:
            rows = [c for c in choices_of(block, system) if c.quantity == quantity]
            known = np.zeros(wrong.shape, bool)
            for row in rows:
                known |= row.marks(*inputs)
            for place in np.flatnonzero(wrong & ~known)[:3]:
                numbers = [x[place].tolist() for x in inputs if len(x) == len(wrong)]
                unknown.append(f"{name}, {system}: {numbers}")
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("system", INSTALLED)
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_every_choice_is_a_difference(
    choice: Choice, system: str, differences: Differences
) -> None:
    """A row that names a system which agrees must go."""
    for block in choice.blocks if system in choice.elsewhere else ():
        found = differences[block, system, choice.quantity]
        assert any((wrong & choice.marks(*inputs)).any() for _, wrong, inputs in found), block


def test_jax_flushes_subnormal_numbers(installed: None) -> None:
    import jax.numpy as jnp

    smallest = np.finfo("float32").smallest_subnormal
    assert np.asarray(jnp.asarray(np.array([smallest])) * 1) == 0


def test_every_row_names_blocks_and_another_system() -> None:
    for choice in CHOICES:
        assert choice.elsewhere, choice
        assert all(name in registry().classes for name in choice.blocks), choice


def test_the_tables_have_all_rows() -> None:
    assert table().count("\n") + table(extreme=True).count("\n") == len(CHOICES) + 4
    assert "| Abs | gradient | x = 0 | 0 | 1 in JAX |" in table()
    assert "weight decay" in conventions()
    assert notes("Norm")[0] == "Gradient at length 0: 0; NaN in JAX and TensorFlow and MXNet."


def test_the_manual_has_the_tables() -> None:
    page = (ROOT / "assets" / "manual" / "systems.md").read_text(encoding="utf-8")
    for part in (conventions(), table(), table(extreme=True)):
        assert part in page
