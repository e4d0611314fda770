"""What repositories' programs compute: ``python -m tests.assistants.measuring FOLDER...``.

Each runs in a process of its own, for which PyTorch need not be imported again. Prints a line of
JSON for each: of some calls of what ``make()`` returns the numbers that come back, and of each
parameter of a module that is called, in the order of the calls, its gradient and its value; and the
error that ended them, if one did.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

CALLS = 3
MOST_SECONDS = 120
"""What one program may take."""


def measure(folder: Path) -> dict[str, Any]:
    """What its program computes, in this process."""
    sys.path.insert(0, str(folder))
    warnings.simplefilter("ignore")
    parameters: dict[int, torch.nn.Parameter] = {}
    handle = register_module_forward_pre_hook(
        lambda module, _: parameters.update((id(p), p) for p in module.parameters())
    )
    losses: list[Any] = []
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


def _call(program: Any, arguments: Any, parameters: dict[int, Any]) -> Any:
    """The numbers that it returns."""
    result = program(*arguments)
    loss = result.get("loss") if isinstance(result, dict) else result
    is_loss = isinstance(loss, torch.Tensor) and loss.numel() == 1
    if is_loss and not any(p.grad is not None for p in parameters.values()):
        loss.backward()  # of what only gives the loss
    return _numbers(result)


def _numbers(result: Any) -> Any:
    if isinstance(result, dict):
        return [_numbers(value) for value in result.values()]
    if isinstance(result, list | tuple):
        return [_numbers(value) for value in result]
    if isinstance(result, torch.Tensor):
        return _listed(result)
    return _number(float(result)) if isinstance(result, int | float) else None


def _listed(tensor: torch.Tensor | None) -> list[float | str] | None:
    if tensor is None:
        return None
    return [_number(x) for x in tensor.detach().to_dense().double().flatten().tolist()]


def _number(x: float) -> Any:
    return x if math.isfinite(x) else str(x)


def _apart(folder: Path) -> str:
    """The JSON of a program that runs in a copy of this process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        with open(os.devnull, "w") as nowhere, os.fdopen(write, "w") as out:
            os.dup2(nowhere.fileno(), 1)  # the program may print
            out.write(json.dumps(measure(folder)))
            out.flush()
            os._exit(0)
    os.close(write)
    told = b""
    with os.fdopen(read, "rb") as pipe:
        while select.select([pipe], [], [], MOST_SECONDS)[0] and (part := os.read(read, 1 << 16)):
            told += part
        is_over = not select.select([pipe], [], [], 0)[0]
    if is_over:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    late = f"takes more than {MOST_SECONDS} s" if is_over else "the process ended"
    return told.decode() or json.dumps({"error": late})


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(_apart(Path(each).absolute()))
