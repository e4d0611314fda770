"""What a repository's program computes: ``python -m tests.assistants.measuring FOLDER``.

Prints JSON: losses, and of each parameter of a module that is called, in the order of the calls,
its gradient and its value after each of some calls of what ``make()`` returns; and the error that
ended them, if one did.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

CALLS = 3


def measure(folder: Path) -> dict[str, Any]:
    """What its program computes, in this process."""
    sys.path.insert(0, str(folder))
    warnings.simplefilter("ignore")
    parameters: dict[int, torch.nn.Parameter] = {}
    handle = register_module_forward_pre_hook(
        lambda module, _: parameters.update((id(p), p) for p in module.parameters())
    )
    losses: list[float | None] = []
    gradients: list[list[Any]] = []
    error = ""
    try:
        train = import_module("train")
        torch.manual_seed(0)
        made = train.make()
        program, *arguments = made if isinstance(made, tuple) else (made,)
        for call in range(CALLS):
            torch.manual_seed(call)
            losses.append(_call(program, arguments, parameters))
            gradients.append([_listed(p.grad) for p in parameters.values()])
    except Exception as raised:  # whatever the program does is the answer
        error = f"{type(raised).__name__}: {raised}"
    handle.remove()
    values = [_listed(p) for p in parameters.values()]
    return {"losses": losses, "gradients": gradients, "values": values, "error": error}


def _call(program: Any, arguments: Any, parameters: dict[int, Any]) -> float | None:
    result = program(*arguments)
    is_tensor = isinstance(result, torch.Tensor) and result.numel() == 1
    if is_tensor and not any(p.grad is not None for p in parameters.values()):
        result.backward()  # of what only gives the loss
    if is_tensor or isinstance(result, float):
        return _number(float(result))
    return None


def _listed(tensor: torch.Tensor | None) -> list[float | str] | None:
    if tensor is None:
        return None
    return [_number(x) for x in tensor.detach().to_dense().double().flatten().tolist()]


def _number(x: float) -> Any:
    return x if math.isfinite(x) else str(x)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]).absolute())))
