"""Steps on a table of which a batch looks up few rows, against PyTorch and JAX.

    python -m tests.benchmarks.training.tables [--rows 50000] [--width 128] [--seconds 2]

Words come as often as those of texts. All systems take turns, sample by sample, on one thread, and
each step returns the loss as a number; the losses of the first steps must agree. Printed is a
Markdown table: our milliseconds of processor time, and how many times as long the others take, with
whole gradients and with sparse ones. ``pass`` is forward and backward alone. Memory is the peak of
a process of its own. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.diagram.optimisers import AdagradMethod, AdamMethod, Method, SGDMethod
from gradwire.runtime.diagram.training import OptimiserRule, Training
from tests.benchmarks import processes
from tests.benchmarks.engine.operations import JaxOperations, TorchOperations
from tests.benchmarks.engine.tables import embedding
from tests.benchmarks.training.turns import summary, take_turns

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

LR = 0.1
AGREEING = 5
METHODS: dict[str, Method | None] = {
    "pass": None,
    "sgd": SGDMethod(lr=LR),
    "adagrad": AdagradMethod(lr=LR),
    "adam": AdamMethod(lr=LR),
}
Step = Callable[[], float]


def ours(work: Workload, method: str, sparse: bool) -> Step:
    from gradwire.runtime.engine import Session
    from gradwire.runtime.training.trainer import Trainer

    session = Session(work.diagram)
    for name, array in work.data.items():
        session.set(name, array)
    update = METHODS[method]
    if update is None:
        call = session.prepare(values=["loss"], sparse=sparse)
        return lambda: float(call()[0])  # type: ignore[arg-type]  # the loss is always there
    rule = OptimiserRule(name="opt", method=update)
    trainer = Trainer(session, Training(optimisers=(rule,)))
    return lambda: trainer.step().losses["loss.out"]


def torch_step(work: Workload, method: str, sparse: bool) -> Step | None:
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    if method == "adam" and sparse:
        return None  # torch.optim.SparseAdam computes something else

    class Ops(TorchOperations):
        def embed(self, weight: Any, indices: Any) -> Any:
            return torch.nn.functional.embedding(indices, weight, sparse=sparse)

    ops = Ops(torch)
    variables = {k: torch.tensor(v, requires_grad=True) for k, v in work.variables.items()}
    data = {k: torch.tensor(v) for k, v in work.data.items()}
    kinds = {"sgd": "SGD", "adagrad": "Adagrad", "adam": "Adam"}
    optimiser = (
        getattr(torch.optim, kinds[method])(variables.values(), lr=LR) if method in kinds else None
    )

    def step() -> float:
        for variable in variables.values():
            variable.grad = None
        loss = work.peer(ops, variables, data)
        loss.backward()
        if optimiser is not None:
            optimiser.step()
        return float(loss.detach())

    return step


def jax_step(work: Workload, method: str) -> Step:
    jax: Any = importlib.import_module("jax")
    ops = JaxOperations(jax)
    data = {k: jax.numpy.asarray(v) for k, v in work.data.items()}
    variables = {k: jax.numpy.asarray(v) for k, v in work.variables.items()}
    loss_and_gradients = jax.value_and_grad(lambda v: work.peer(ops, v, data))
    if method == "pass":
        call = jax.jit(loss_and_gradients)
        return lambda: float(jax.block_until_ready(call(variables))[0])
    optax: Any = importlib.import_module("optax")
    make = {
        "sgd": optax.sgd(LR),
        "adagrad": optax.adagrad(LR, initial_accumulator_value=0.0, eps=0.0),
        "adam": optax.adam(LR),
    }
    optimiser = make[method]

    def whole(variables: Any, state: Any) -> Any:
        loss, gradients = loss_and_gradients(variables)
        changes, state = optimiser.update(gradients, state)
        return optax.apply_updates(variables, changes), state, loss

    function = jax.jit(whole, donate_argnums=(0, 1))
    held = [variables, optimiser.init(variables)]

    def step() -> float:
        held[0], held[1], loss = function(*held)
        return float(loss)

    return step


SYSTEMS: dict[str, Callable[[Workload, str], Step | None]] = {
    "gradwire": lambda work, method: ours(work, method, True),
    "gradwire, arrays": lambda work, method: ours(work, method, False),
    "torch": lambda work, method: torch_step(work, method, False),
    "torch, sparse": lambda work, method: torch_step(work, method, True),
    "jax": jax_step,
}
"""Without ``pass`` the first two are the same."""


def measure(work: Workload, method: str, seconds: float) -> dict[str, Any]:
    made = {name: make(work, method) for name, make in SYSTEMS.items()}
    steps = {name: step for name, step in made.items() if step is not None}
    if method != "pass":
        del steps["gradwire, arrays"]
    losses = {name: [step() for _ in range(AGREEING)] for name, step in steps.items()}
    for name, found in losses.items():
        np.testing.assert_allclose(found, losses["gradwire"], rtol=1e-4, err_msg=name)
    return summary(take_turns(steps, 10, seconds, 1), ["gradwire"])


def peak(work: Workload, method: str, system: str) -> float:
    """Peak memory of this process in MiB after some steps."""
    step = SYSTEMS[system](work, method)
    if step is None:
        return 0.0
    for _ in range(10):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--child", nargs=2)
    given = parser.parse_args()
    work = embedding(given.rows, given.width)
    if given.child:
        method, system = given.child
        if system == "time":
            print(json.dumps(measure(work, method, given.seconds)))
        else:
            print(json.dumps(peak(work, method, system)))
        return
    module = "tests.benchmarks.training.tables"
    size = ("--rows", str(given.rows), "--width", str(given.width))
    common = (*size, "--seconds", str(given.seconds), "--child")
    print(f"{work.about}\n\n| | ours, ms | {' | '.join(list(SYSTEMS)[1:])} | MiB |\n|{'---|' * 7}")
    for method in METHODS:
        found = processes.child(1, module, *common, method, "time")
        ratios = found["ratio"]["gradwire"]
        shown = [f"{ratios[name]:.2f}" if name in ratios else "–" for name in list(SYSTEMS)[1:]]
        memory = [
            f"{name} {processes.child(1, module, *common, method, name):.0f}"
            for name in SYSTEMS
            if name == "gradwire" or name in ratios
        ]
        line = [method, f"{1e3 * found['median']['gradwire']:.2f}", *shown, ", ".join(memory)]
        print(f"| {' | '.join(line)} |", flush=True)


if __name__ == "__main__":
    main()
