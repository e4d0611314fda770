"""Diagrams of differentiable programs that show which wires carry gradient, and why others don't.

    import gradwire as gw

    a, b = gw.variable("a", [[1, 2]]), gw.variable("b", [[0, 1]])
    session = gw.Session(gw.build(gw.loss(gw.stop_gradient(3 * b) + a)))
    print(session.backward().gradients, gw.analyse(session.program).variable("b").sentence)

``__all__`` lists the public names. In addition, every installed block is a function in snake case:
``gw.relu(x)``, ``gw.conv2d(x, w, stride=(2, 2))``. Names are imported on first use;
``import gradwire`` alone loads neither numpy nor any block. Type checkers read ``__init__.pyi``.
"""

import os
from importlib import import_module

_here = os.path.dirname(os.path.realpath(__file__))
if not os.path.isdir(os.path.join(_here, "blocks")):  # in a checkout, the floors lie at its root
    # First of all: another thread may import a floor while this module is only begun.
    __path__.append(os.path.dirname(os.path.dirname(os.path.dirname(_here))))

_FLOORS = ("app", "assets", "blocks", "runtime")

_NAMES = {
    "blocks": ("Block", "InputPort"),
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
        "LimitError",
        "Location",
        "NotRunnableError",
        "ParameterError",
        "RunError",
        "ShapeError",
        "TraceError",
        "UnknownBlockError",
    ),
    "blocks.registry": ("registry",),
    "runtime.build": (
        "Expression",
        "block",
        "build",
        "cond",
        "constant",
        "input",
        "loss",
        "own",
        "page",
        "scan",
        "stop_gradient",
        "variable",
    ),
    "runtime.data.files.access": ("allow_data",),
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
    "runtime.diagram.optimisers": (
        "AdadeltaMethod",
        "AdagradMethod",
        "AdamMethod",
        "AdamWMethod",
        "AdamaxMethod",
        "LionMethod",
        "NAdamMethod",
        "RAdamMethod",
        "RMSpropMethod",
        "SGDMethod",
    ),
    "runtime.diagram.training": (
        "Average",
        "Clip",
        "ConstantSchedule",
        "CosineSchedule",
        "ExponentialSchedule",
        "Group",
        "OptimiserRule",
        "StepSchedule",
        "Training",
        "WarmupCosineSchedule",
    ),
    "runtime.engine": ("Optimiser", "Program", "Run", "Session", "SparseRows"),
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
    "runtime.flow.analyse": ("analyse",),
    "runtime.interchange.importing.capturing": ("capture",),
    "runtime.interchange.importing.imported": ("Imported", "Remark", "UnsupportedError"),
    "runtime.interchange.importing.process": ("import_model",),
    "runtime.publish.living.publishing": ("publish",),
    "runtime.recurrent": ("gru", "lstm", "rnn"),
    "runtime.training.saving.checkpoint": (
        "TrainerState",
        "load_checkpoint",
        "save_checkpoint",
    ),
    "runtime.training.diverged": ("DivergedError",),
    "runtime.training.history": ("History",),
    "runtime.training.optimisers": (
        "SGD",
        "Adadelta",
        "Adagrad",
        "Adam",
        "AdamW",
        "Adamax",
        "Lion",
        "NAdam",
        "RAdam",
        "RMSprop",
    ),
    "runtime.training.records": ("OptimiserRecord", "StepRecord"),
    "runtime.training.saving.runs": ("TrainingRun",),
    "runtime.training.trainer": ("Trainer",),
    "runtime.watch": ("Found", "NotFiniteError", "Report", "watch", "why"),
    "runtime.version": ("__version__",),
}
"""The public names, by the module that defines or exports them."""

_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name in _FLOORS:
        return import_module(f"{__name__}.{name}")
    if name.startswith("_") and name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Other names may be installed blocks, for which runtime.build provides functions.
    module = import_module(f"{__name__}.{_MODULE_OF.get(name, 'runtime.build')}")
    try:
        found = getattr(module, name)
    except AttributeError as error:
        raise AttributeError(str(error).replace(module.__name__, __name__)) from None
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(import_module(f"{__name__}.runtime.build"))})
