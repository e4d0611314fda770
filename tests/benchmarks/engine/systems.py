"""The systems, each ready to compute the loss and all gradients of a workload in float32."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.engine.operations import (
    AutogradOperations,
    JaxOperations,
    PyTensorOperations,
    TensorFlowOperations,
    TorchOperations,
)

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

Array = NDArray[Any]


class System(NamedTuple):
    """``call()`` computes loss and gradients once; ``results()`` does so and returns the arrays."""

    call: Callable[[], Any]
    results: Callable[[], dict[str, Array]]


def _named(loss: Any, gradients: Mapping[str, Any]) -> dict[str, Array]:
    """Of a loss with several elements the sum, which is what they are the gradients of."""
    found = {name: np.asarray(g) for name, g in gradients.items() if g is not None}
    return {"loss": np.sum(np.asarray(loss))} | found


def _prepared(work: Workload, threads: int, fast: bool) -> System:
    from gradwire.runtime.engine import Session

    session = Session(work.diagram, fast=fast, threads=threads)
    step = session.prepare(feeds=tuple(work.data), values=("loss",))
    feeds = tuple(work.data.values())

    def results() -> dict[str, Array]:
        found = dict(zip(step.results, step(*feeds), strict=True))
        return _named(found.pop("loss.out"), found)

    return System(lambda: step(*feeds), results)


def _plain(work: Workload, threads: int) -> System:
    from gradwire.runtime.engine import Session

    session = Session(work.diagram, threads=threads)
    for name, array in work.data.items():
        session.set(name, array)

    def results() -> dict[str, Array]:
        run = session.backward()
        return _named(run.values["loss.out"], run.gradients)

    return System(session.backward, results)


def _torch(work: Workload, threads: int, compiling: bool) -> System:
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(threads)
    ops = TorchOperations(torch)
    variables = {k: torch.tensor(v, requires_grad=True) for k, v in work.variables.items()}
    data = {k: torch.tensor(v) for k, v in work.data.items()}

    def loss_of() -> Any:
        return work.peer(ops, variables, data)

    function = torch.compile(loss_of) if compiling else loss_of

    def call() -> Any:
        loss = function()
        for variable in variables.values():
            variable.grad = None
        loss.backward()
        return float(loss.detach())

    def results() -> dict[str, Array]:
        return _named(call(), {name: v.grad for name, v in variables.items()})

    return System(call, results)


def _jax(work: Workload, threads: int) -> System:
    """Its threads are fixed when the process starts."""
    jax: Any = importlib.import_module("jax")
    ops = JaxOperations(jax)
    function = jax.jit(jax.value_and_grad(lambda v, data: work.peer(ops, v, data)))
    variables = {k: jax.numpy.asarray(v) for k, v in work.variables.items()}
    data = {k: jax.numpy.asarray(v) for k, v in work.data.items()}

    def call() -> Any:
        loss, gradients = jax.block_until_ready(function(variables, data))
        return float(loss), gradients

    return System(call, lambda: _named(*call()))


def _tensorflow(work: Workload, threads: int, xla: bool) -> System:
    tf: Any = importlib.import_module("tensorflow")
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    ops = TensorFlowOperations(tf)
    variables = {k: tf.Variable(v) for k, v in work.variables.items()}
    data = {k: tf.constant(v) for k, v in work.data.items()}

    @tf.function(jit_compile=xla)  # type: ignore[untyped-decorator]  # TensorFlow is imported by name
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = work.peer(ops, variables, data)
        return loss, tape.gradient(loss, variables)

    def call() -> Any:
        loss, gradients = step()
        return float(loss), gradients

    def results() -> dict[str, Array]:
        loss, gradients = call()
        return _named(
            loss, {k: tf.convert_to_tensor(g) for k, g in gradients.items() if g is not None}
        )

    return System(call, results)


def _pytensor(work: Workload, threads: int) -> System:
    """A compiled function of shared variables."""
    pytensor: Any = importlib.import_module("pytensor")
    pt: Any = importlib.import_module("pytensor.tensor")
    gradient: Any = importlib.import_module("pytensor.gradient")
    pytensor.config.floatX = "float32"
    variables = {k: pytensor.shared(v, name=k) for k, v in work.variables.items()}
    data = {k: pytensor.shared(v, name=k) for k, v in work.data.items()}
    loss = work.peer(PyTensorOperations(pt, gradient), variables, data)
    reached = pytensor.grad(loss, list(variables.values()), disconnected_inputs="ignore")
    function = pytensor.function([], [loss, *reached])

    def results() -> dict[str, Array]:
        loss, *gradients = function()
        return _named(loss, dict(zip(variables, gradients, strict=True)))

    return System(function, results)


def _autograd(work: Workload, threads: int) -> System:
    """HIPS autograd; its matrix products use numpy's threads."""
    autograd: Any = importlib.import_module("autograd")
    ops = AutogradOperations(importlib.import_module("autograd.numpy"))
    function = autograd.value_and_grad(lambda v: work.peer(ops, v, work.data))
    variables = dict(work.variables)
    return System(lambda: function(variables), lambda: _named(*function(variables)))


Maker = Callable[["Workload", int], System]
"""Takes a workload and how many threads it may have."""

SYSTEMS: dict[str, tuple[str, Maker]] = {
    "gradwire": ("numpy", lambda work, threads: _prepared(work, threads, fast=False)),
    "gradwire-fast": ("llvmlite", lambda work, threads: _prepared(work, threads, fast=True)),
    "gradwire-plain": ("llvmlite", _plain),
    "torch": ("torch", lambda work, threads: _torch(work, threads, compiling=False)),
    "torch-compiled": ("torch", lambda work, threads: _torch(work, threads, compiling=True)),
    "jax": ("jax", _jax),
    "tensorflow": ("tensorflow", lambda work, threads: _tensorflow(work, threads, xla=False)),
    "tensorflow-xla": ("tensorflow", lambda work, threads: _tensorflow(work, threads, xla=True)),
    "pytensor": ("pytensor", _pytensor),
    "autograd": ("autograd", _autograd),
}
"""The module that each needs, and how it is made. ``gradwire`` and ``gradwire-fast`` are prepared
calls with numpy alone and with machine code, ``gradwire-plain`` is ``Session.backward``.
"""
OURS = tuple(system for system in SYSTEMS if system.startswith("gradwire"))
