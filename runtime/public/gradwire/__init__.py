"""Diagrams of differentiable programs that show which wires carry gradient, and why others don't.

    import gradwire as gw

    a, b = gw.variable("a", [[1, 2]]), gw.variable("b", [[0, 1]])
    session = gw.Session(gw.build(gw.loss(gw.stop_gradient(3 * b) + a)))
    print(session.backward().gradients, gw.analyse(session.program).variable("b").sentence)

``__all__`` lists the public names, which are those of ``__init__.pyi``. In addition, every
installed block is a function in snake case: ``gw.relu(x)``, ``gw.conv2d(x, w, stride=(2, 2))``.
Names are imported on first use; ``import gradwire`` alone loads neither numpy nor any block.
"""

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module

_here = os.path.dirname(os.path.realpath(__file__))
if not os.path.isdir(os.path.join(_here, "blocks")):  # in a checkout, the floors lie at its root
    # First of all: another thread may import a floor while this module is only begun.
    __path__.append(os.path.dirname(os.path.dirname(os.path.dirname(_here))))

_FLOORS = ("app", "assets", "blocks", "runtime")


@cache
def _exports() -> tuple[Callable[[str], object], list[str]]:
    from gradwire.blocks import attach_stub  # a floor: nothing is imported with this module alone

    return attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in _FLOORS:
        return import_module(f"{__name__}.{name}")
    if name.startswith("_") and name not in ("__all__", "__version__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    exported, names = _exports()
    if name == "__all__":
        return globals().setdefault(name, names)
    if name in names:
        return exported(name)
    # Other names may be installed blocks, for which runtime.build provides functions.
    module = import_module(f"{__name__}.runtime.build")
    try:
        found = getattr(module, name)
    except AttributeError as error:
        raise AttributeError(str(error).replace(module.__name__, __name__)) from None
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*_exports()[1], *dir(import_module(f"{__name__}.runtime.build"))})
