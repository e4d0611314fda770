"""Diagrams of differentiable arithmetic that show which wires carry gradient, and why not.

    import gradwire as gw

    a, b = gw.variable("a", [[1, 2]]), gw.variable("b", [[0, 1]])
    session = gw.Session(gw.build(gw.loss(gw.stop_gradient(3 * b) + a)))
    print(session.backward().gradients, gw.analyse(session.program).variable("b").sentence)

``__all__`` is the public interface. Every installed block is a function as well, in snake case:
``gw.relu(x)``, ``gw.conv2d(x, w, stride=2)``. A name is imported when it is first used, so that
``import gradwire`` alone loads neither numpy nor any block. The types are in ``__init__.pyi``.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

_HOMES = {
    "blocks": ("Block", "InputPort", "registry"),
    "blocks.errors": (
        "BlockDefinitionError",
        "BlockError",
        "BuildError",
        "ChangeError",
        "DTypeError",
        "DiagramError",
        "FeedError",
        "FileError",
        "GradwireError",
        "HeadError",
        "Location",
        "NotRunnableError",
        "ParameterError",
        "RunError",
        "ShapeError",
        "TraceError",
        "UnknownBlockError",
    ),
    "runtime.build": (
        "Expression",
        "block",
        "build",
        "constant",
        "input",
        "loss",
        "page",
        "stop_gradient",
        "variable",
    ),
    "runtime.diagram": (
        "Diagnostic",
        "Diagram",
        "Page",
        "arrange",
        "check",
        "dumps",
        "json_schema",
        "load",
        "loads",
        "save",
    ),
    "runtime.engine": ("SGD", "Adam", "Optimiser", "Program", "Run", "Session"),
    "runtime.flow": (
        "Comparison",
        "Contract",
        "Difference",
        "Finding",
        "Fix",
        "Flow",
        "LossMatrix",
        "ObservedFlow",
        "Outcome",
        "State",
        "Thresholds",
        "Verdict",
        "WhatIf",
        "analyse",
        "check_contracts",
        "check_gradients",
        "contracts_of",
        "diagnose",
        "dialects",
        "fix",
        "fixes",
        "loss_matrix",
        "observe",
        "parse_contracts",
    ),
    "runtime.version": ("__version__",),
}
"""The public names, by the module that defines or exports them."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def _require_own_runtime() -> None:
    """Raise ImportError where another package hides Gradwire's own; runtime checks the others."""
    homes = Path(__file__).resolve().parents  # installed beside it, or inside it in the sources
    spec = find_spec("runtime")
    origin = None if spec is None else spec.origin
    if origin is None or Path(origin).resolve().parents[1] not in (homes[1], homes[3]):
        raise ImportError(
            f"Gradwire needs its own package 'runtime', but {origin or 'none'} comes first on "
            "sys.path. Rename that one, or take its folder off PYTHONPATH."
        )


_require_own_runtime()


def __getattr__(name: str) -> object:
    if name.startswith("_") and name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # What is not listed may be an installed block, which runtime.build makes a function.
    home = import_module(_HOME_OF.get(name, "runtime.build"))
    try:
        found = getattr(home, name)
    except AttributeError as error:
        raise AttributeError(str(error).replace(home.__name__, __name__)) from None
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(import_module("runtime.build"))})
