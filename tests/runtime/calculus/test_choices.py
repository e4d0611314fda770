"""The table of choices against PyTorch and JAX: no difference is missing, no row is idle."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import ShapeError
from gradwire.blocks.registry import registry
from gradwire.runtime.calculus.choices.choice import SYSTEMS, Choice, Site
from gradwire.runtime.calculus.choices.definitions.systems import defines
from gradwire.runtime.calculus.choices.table import (
    CHOICES,
    OPTIMISERS,
    choices_of,
    conventions,
    notes,
    table,
)
from gradwire.runtime.calculus.dtypes import SIGNED, UNSIGNED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.runtime.calculus.peers.comparisons import Answers, Comparison
    from tests.runtime.calculus.tracing import Array

Found = tuple[str, "Array", Site]
"""What was compared, the places where it differs, and the site."""

ROOT = Path(__file__).parents[3]
FLOATS = ("float16", "float32", "float64")
INTEGERS = ("bool", *SIGNED, *UNSIGNED)
INSTALLED = ("PyTorch", "JAX")
_ROUNDING = {"float16": 1e-2, "float64": 1e-10}
"""What the numbers may differ by, relative and absolute; 2e-5 for the other dtypes."""


@pytest.fixture(scope="module")
def installed(jax_in_float64: object) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)


def differ(ours: Array, theirs: Array) -> Array:
    """Where two arrays are not the same numbers but for rounding; the sign of 0 is ignored."""
    bound = max(_ROUNDING.get(x.dtype.name, 2e-5) for x in (ours, theirs))
    with np.errstate(all="ignore"):
        ours, theirs = (x.astype(float) if x.dtype == bool else x for x in (ours, theirs))
        return ~np.isclose(ours, theirs, rtol=bound, atol=bound, equal_nan=True)


def places(found: Array, count: int) -> Array:
    """By place along the first axis; everything is one place where the results share it."""
    if not found.ndim or len(found) != count:
        return np.broadcast_to(found.any(), (count,))
    return found.any(axis=tuple(range(1, found.ndim)))


def tiny(given: Comparison, value: Array, count: int) -> Array:
    """Places whose numbers JAX takes as 0, or would on the way: a CPU flushes subnormal ones."""
    found = np.zeros(count, bool)
    for x in (*given.inputs.values(), value):
        if x.dtype.kind == "f" and x.shape[:1] == (count,):
            found |= places((np.abs(x) <= np.finfo(x.dtype).tiny) & (x != 0), count)
    return found


@dataclass(repr=False)  # a failing test would show all numbers, which takes minutes
class Compared:
    """Where this system differs from others, and where the definitions of those do from them."""

    ours: dict[tuple[str, str, str], list[Found]] = field(default_factory=lambda: defaultdict(list))
    """By block, system and quantity."""
    definitions: dict[str, list[Found]] = field(default_factory=lambda: defaultdict(list))
    """By system."""
    dtypes: list[str] = field(default_factory=list)
    """Those of which all blocks have been compared."""

    def of(self, dtype: str) -> None:
        """Compare all blocks in a dtype, unless that has been done."""
        import jax

        from tests.runtime.calculus.peers.comparisons import of_floats, of_integers

        if dtype not in self.dtypes:
            for given in of_floats(dtype) if dtype in FLOATS else of_integers(dtype):
                self.add(given)
            self.dtypes.append(dtype)
            jax.clear_caches()  # some gigabytes

    def add(self, given: Comparison) -> None:
        """Compare a block with every system that has it and takes its dtypes."""
        ours = given.of("Gradwire")
        for system in given.systems:
            takes_all = given.dtype in FLOATS
            theirs = given.of(system) if takes_all else given.of_or_none(system)
            if theirs is not None:
                self._add(given, ours, theirs, system)

    def _add(self, given: Comparison, ours: Answers, theirs: Answers, system: str) -> None:
        for quantity, *rest in _differences(given, ours, theirs, system):
            self.ours[given.name, system, quantity].append((*rest,))
        if given.dtype in FLOATS and defines(system, given.name):
            defined = given.by_definition(system)
            for quantity, *rest in _differences(given, defined, theirs, system):
                if quantity in ("value", "gradient"):
                    self.definitions[system].append((*rest,))


@pytest.fixture(scope="module")
def comparison(installed: None) -> Compared:
    """What has been compared so far."""
    return Compared()


@pytest.fixture(scope="module")
def compared(comparison: Compared) -> Compared:
    """All blocks in all dtypes."""
    for dtype in (*FLOATS, *INTEGERS):
        comparison.of(dtype)
    return comparison


def _differences(
    given: Comparison, ours: Answers, theirs: Answers, system: str
) -> Iterator[tuple[str, str, Array, Site]]:
    """Each quantity of a comparison, its name, the places where it differs, and the site."""
    assert theirs.keys() == ours.keys(), given
    inputs = tuple(given.inputs.values())
    value, count = ours["value", "", 1.0], len(inputs[0])
    ignored = tiny(given, value, count) if system == "JAX" else np.zeros(count, bool)
    dtypes = value.dtype, theirs["value", "", 1.0].dtype
    yield (
        "dtype",
        f"{given} {dtypes}",
        np.full(count, dtypes[0] != dtypes[1]),
        Site(given.block, inputs),
    )
    for key, numbers in ours.items():
        assert numbers.shape == theirs[key].shape, (str(given), system, key)
        quantity, name, arriving = key
        wrong = places(differ(numbers, theirs[key]), count) & ~ignored
        if numbers.shape[:1] != (count,) and ignored.any():
            wrong[:] = False  # all places share it, those that are ignored as well
        site = Site(given.block, inputs, np.array(arriving))
        yield quantity, f"{given} {quantity} {name} of {arriving}", wrong, site


def test_every_block_that_pytorch_has_is_compared(installed: None) -> None:
    from tests.runtime.calculus.peers.comparisons import of_floats, of_integers
    from tests.runtime.calculus.peers.pytorch import FUNCTIONS

    found = [*of_floats("float32"), *of_integers("bool"), *of_integers("int64")]
    missing = FUNCTIONS.keys() - {given.name for given in found}
    assert not missing, "\n".join(
        f'{name} is not compared: add found.add("{name}", arrays by input) in '
        f"tests/runtime/calculus/peers/comparisons.py."
        for name in sorted(missing)
    )


@pytest.mark.night
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_all_blocks_of_a_dtype_can_be_compared(dtype: str, comparison: Compared) -> None:
    """One after the other, before the tests of all: each alone takes minutes."""
    comparison.of(dtype)
    assert dtype in comparison.dtypes


@pytest.mark.night
def test_every_difference_is_a_choice(compared: Compared) -> None:
    """A difference that is not in the table is a fault, or a row that is missing."""
    unknown = []
    for (block, system, quantity), found in compared.ours.items():
        rows = [c for c in choices_of(block, system) if c.quantity == quantity]
        for name, wrong, site in found:
            unknown += _unmarked(f"{name}, {system}", wrong, site, rows)
    assert not unknown, "\n".join(unknown)


@pytest.mark.night
def test_definitions_give_the_numbers_of_their_systems(compared: Compared) -> None:
    """But for the rows that say that they don't."""
    wrong_there = []
    for system, found in compared.definitions.items():
        for name, wrong, site in found:
            rows = [c for c in choices_of(site.block.type_name(), system) if not c.modelled]
            wrong_there += _unmarked(f"{name}, {system}", wrong, site, rows)
    assert not wrong_there, "\n".join(wrong_there)
    assert len(compared.definitions["PyTorch"]) > 100 < len(compared.definitions["JAX"])


def _unmarked(name: str, wrong: Array, site: Site, rows: list[Choice]) -> Iterator[str]:
    """A line for places that are wrong and that no row marks."""
    if wrong.any():
        known = np.zeros(wrong.shape, bool)
        for row in rows:
            known |= row.marks(site)
        for place in np.flatnonzero(wrong & ~known)[:3]:
            numbers = [x[place].tolist() for x in site.inputs if len(x) == len(wrong)]
            yield f"{name}: {numbers}"


@pytest.mark.night
@pytest.mark.parametrize("system", INSTALLED)
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_every_choice_is_a_difference(choice: Choice, system: str, compared: Compared) -> None:
    """A row that names a system which agrees must go."""
    for block in choice.blocks if choice.shown and system in choice.elsewhere else ():
        found = compared.ours[block, system, choice.quantity]
        assert any((wrong & choice.marks(site)).any() for _, wrong, site in found), block


@pytest.mark.parametrize("system", SYSTEMS)
def test_rows_and_definitions_belong_together(system: str) -> None:
    """A row that definitions follow has one for each of its blocks, and each definition a row."""
    for choice in CHOICES:
        if choice.modelled and choice.quantity in ("value", "gradient"):
            for block in choice.blocks if system in choice.elsewhere else ():
                assert defines(system, block), (block, str(choice))
    for block in registry().classes:
        if defines(system, block):
            rows = [c for c in choices_of(block, system) if c.modelled]
            assert any(c.quantity in ("value", "gradient") for c in rows), block


@pytest.mark.night
@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions_of_nothing_are_refused_here_alone(dtype: str, installed: None) -> None:
    from tests.runtime.calculus.peers.comparisons import of_nothing

    for given in of_nothing(dtype):
        with pytest.raises(ShapeError, match="no elements"):
            given.of("Gradwire")
        for system in given.systems:
            assert not np.isfinite(given.of(system)["value", "", 1.0]).any(), (str(given), system)
    assert "of no elements | is refused" in conventions()


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
    assert notes("Norm")[0] == "Gradient at length 0: 0; NaN in JAX, TensorFlow and MXNet."


def test_the_manual_has_the_tables() -> None:
    page = (ROOT / "assets" / "manual" / "systems.md").read_text(encoding="utf-8")
    for part in (conventions(), conventions(OPTIMISERS), table(), table(extreme=True)):
        assert part in page
