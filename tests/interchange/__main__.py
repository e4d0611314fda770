"""Prints what imports and exports reach: ``python -m tests.interchange [onnx torch jax …]``.

Each part needs its framework; one that is not installed is named and left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import time
from typing import TYPE_CHECKING

import tests.interchange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.interchange.rows import Row

NEEDS = {
    "onnx": "onnx", "torch": "torch", "jax": "jax", "exports": "torch", "keras": "h5py",
    "tensorflow": "google",
}  # fmt: skip
"""The package that a part can't do without, by its module's name."""


def parts() -> list[str]:
    """The modules of this package that have rows: those that are called by a system alone."""
    found = [module.name for module in pkgutil.iter_modules(tests.interchange.__path__)]
    return [name for name in found if "_" not in name and name != "rows"]


def show(name: str, rows: Iterable[Row]) -> bool:
    """Print the rows of a part as they come; whether all passed."""
    began, passed, failed = time.perf_counter(), 0, 0
    print(f"\n== {name}")
    for row in rows:
        print(f"{'ok  ' if row.passed else 'FAIL'}  {row.name:<44} {row.detail}", flush=True)
        passed, failed = passed + row.passed, failed + (not row.passed)
    print(f"-- {name}: {passed} passed, {failed} failed, {time.perf_counter() - began:.0f} s")
    return not failed


def main(chosen: list[str]) -> int:
    """Print the chosen parts, or all; 1 where anything failed."""
    well = True
    for name in chosen or parts():
        package = NEEDS.get(name)
        if package is not None and importlib.util.find_spec(package) is None:
            print(f"\n== {name}: not run, {package} is not installed")
            continue
        module = importlib.import_module(f"tests.interchange.{name}")
        well = show(name, module.rows()) and well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
