"""Gradwire's headless runtime: diagrams, calculus, engine, gradient flow. Never imports Qt."""

from importlib.util import find_spec
from pathlib import Path


def _require_neighbours() -> None:
    """Raise ImportError where another package hides a floor of Gradwire, and name it."""
    home = Path(__file__).parents[1].resolve()
    for floor in ("blocks", "app"):
        spec = find_spec(floor)
        if spec is None or spec.origin is None:
            continue
        if Path(spec.origin).resolve().parents[1] != home:
            raise ImportError(
                f"Gradwire needs its own package {floor!r} of {home}, but {spec.origin} comes "
                "first on sys.path. Rename that one, or take its folder off PYTHONPATH."
            )


_require_neighbours()
