"""Gradwire's headless runtime: diagrams, calculus, engine, gradient flow. Never imports Qt."""

from importlib.util import find_spec
from pathlib import Path


def _require_own_packages() -> None:
    """Raise ImportError if another package shadows ``blocks`` or ``app``."""
    home = Path(__file__).parents[1].resolve()
    for floor in ("blocks", "app"):
        spec = find_spec(floor)
        if spec is None or spec.origin is None:
            continue
        if Path(spec.origin).resolve() != home / floor / "__init__.py":
            raise ImportError(
                f"Gradwire needs its own package {floor!r} of {home}, but {spec.origin} comes "
                "first on sys.path. Rename that package, or remove its folder from PYTHONPATH."
            )


_require_own_packages()
