"""Holds a meaning against a function of PyTorch: its values, and the gradients of what it gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from types import ModuleType


class Fixed(NamedTuple):
    """Numbers that get no gradient."""

    array: NDArray[Any]


def functions(module: ModuleType) -> set[str]:
    """The names of a module's own public functions."""
    own = inspect.getmembers(module, inspect.isfunction)
    return {n for n, f in own if f.__module__ == module.__name__ and not n.startswith("_")}


def all_agree(
    module: ModuleType, cases: Mapping[str, Sequence[Any]], helpers: Iterable[str] = ()
) -> None:
    """Assert it of all public functions of a module but some.

    By names that begin with theirs, there are a meaning, its reference, and what both get.
    """
    assert {name.split()[0] for name in cases} == functions(module) - set(helpers)
    for name, (meaning, reference, *arrays) in cases.items():
        agrees(name, meaning, reference, arrays)


def agrees(
    name: str,
    meaning: Callable[..., Any],
    reference: Callable[..., Any],
    given: Sequence[NDArray[Any] | Fixed],
    tolerance: float = 1e-5,
) -> None:
    """Assert it. Both get all arrays; floats are variables, of which gradients are compared."""
    import torch

    stage = Stage()
    floats = [not isinstance(x, Fixed) and x.dtype.kind == "f" for x in given]
    arrays = [x.array if isinstance(x, Fixed) else x for x in given]
    inputs = [
        stage.variable(f"x{i}", array) if is_float else stage.constant(array)
        for i, (array, is_float) in enumerate(zip(arrays, floats, strict=True))
    ]
    results = _several(meaning(*inputs), Staged)
    for number, y in enumerate(results):
        stage.output(y, f"y{number}")
    made = stage.finish()
    tensors = [
        torch.from_numpy(array).clone().requires_grad_(is_float)
        for array, is_float in zip(arrays, floats, strict=True)
    ]
    expected = _several(reference(*tensors), torch.Tensor)
    assert len(results) == len(expected), name
    session = Session(made.diagram)
    ports = [made.outputs[f"y{number}"] for number in range(len(results))]
    values = [np.asarray(session.run(ports=ports).values[port]) for port in ports]
    for value, wanted in zip(values, expected, strict=True):
        _equal(name, value, wanted.detach().numpy(), tolerance)
    weights = {p: _weights(v) for p, v in zip(ports, values, strict=True) if v.dtype.kind == "f"}
    if not weights or not any(floats):
        return
    total = sum(
        (y * torch.from_numpy(weights[p])).sum()
        for p, y in zip(ports, expected, strict=True)
        if p in weights
    )
    leaves = {f"x{i}": t for i, t in enumerate(tensors) if t.requires_grad}
    slopes = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    wrt = {key: f"{made.parameters[key]}.out" for key in leaves if key in made.parameters}
    done = session.backward(
        list(weights), out_gradients=weights, wrt=list(wrt.values()), accumulate=False
    )
    for key, slope in zip(leaves, slopes, strict=True):
        found = done.gradients.get(wrt[key]) if key in wrt else None
        if slope is None:
            assert found is None or not np.any(found), (name, key)
        else:
            _equal(f"{name}, gradient of {key}", found, slope.numpy(), tolerance)


def _several(result: Any, single: type) -> list[Any]:
    return [result] if isinstance(result, single) else list(_flat(result))


def _flat(results: Iterable[Any]) -> Iterable[Any]:
    return (each for each in results if each is not None)


def _weights(x: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.cos(np.arange(x.size)).reshape(x.shape) + 1.5, x.dtype)


def _equal(name: str, found: Any, wanted: NDArray[Any], tolerance: float) -> None:
    assert found is not None and np.shape(found) == wanted.shape, name
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
