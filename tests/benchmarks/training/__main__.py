"""Steps per second of trainings with Adam, against PyTorch (eager and compiled) and JAX.

    python -m tests.benchmarks.training [MLP W4 W5 W6] [--threads 1 2] [--seconds 3] [--json FILE]

Every step computes loss and gradients, updates all variables, and returns the loss as a number.
Each network runs in a process of its own, in which all systems take turns in any order, sample by
sample; the losses of the first twenty steps must agree. Peak memory is that of one more process per
system. The table at the end is Markdown. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import sys
from collections.abc import Callable, Collection
from importlib.util import find_spec
from typing import Any

import numpy as np

from tests.benchmarks import processes
from tests.benchmarks.engine.operations import JaxOperations, TorchOperations
from tests.benchmarks.training.turns import summary, take_turns
from tests.benchmarks.workloads import Drawing, Workload, w4, w5, w6

LR = 1e-3
AGREEING = 20
"""Steps whose losses are compared."""
TOGETHER = 20
"""Rounds that one call of a compiled loop makes; samples have as many."""
TOLERANCE = 2e-4
"""The largest relative difference of losses: after some steps of Adam in float32 the last digits of
gradients have grown.
"""
Step = Callable[[], float]


def mlp(batch: int = 32) -> Workload:
    """A small perceptron 8-16-1 with tanh."""
    rng = np.random.default_rng(1)
    variables = {
        "w0": rng.standard_normal((16, 8), np.float32) * np.float32(0.3),
        "b0": np.zeros(16, np.float32),
        "w1": rng.standard_normal((1, 16), np.float32) * np.float32(0.3),
        "b1": np.zeros(1, np.float32),
    }
    data = {
        "x": rng.standard_normal((batch, 8), np.float32),
        "t": rng.standard_normal((batch, 1), np.float32),
    }
    d = Drawing()
    for name, value in variables.items():
        d.variable(name, value)
    for name, value in data.items():
        d.input(name, value)
    y = d.add("Linear", d.add("Tanh", d.add("Linear", "x", "w0", "b0")), "w1", "b1")

    def peer(ops: Any, v: Any, data: Any) -> Any:
        y = ops.tanh(ops.linear(data["x"], v["w0"]) + v["b0"])
        error = ops.linear(y, v["w1"]) + v["b1"] - data["t"]
        return ops.mean(error * error)

    diagram = d.diagram(d.add("Mean", d.add("Square", d.add("Sub", y, "t"))))
    about = f"perceptron 8-16-1, batch {batch}"
    return Workload("MLP", about, diagram, variables, data, peer, 100)


WORKS: dict[str, Callable[[], Workload]] = {"MLP": mlp, "W4": w4, "W5": w5, "W6": w6}


def ours(together: int = 1, **how: Any) -> Callable[[Workload, int], Step]:
    """Gradwire's trainer, so many rounds in a call."""

    def make(work: Workload, threads: int) -> Step:
        from gradwire.runtime.diagram.optimisers import AdamMethod
        from gradwire.runtime.diagram.training import OptimiserRule, Training
        from gradwire.runtime.engine import Session
        from gradwire.runtime.training.trainer import Trainer

        session = Session(work.diagram, **how)
        for name, array in work.data.items():
            session.set(name, array)
        rule = OptimiserRule(name="adam", method=AdamMethod(lr=LR))
        trainer = Trainer(session, Training(optimisers=(rule,)))
        made: list[float] = []

        def step() -> float:
            if not made:
                made.extend(each.losses["loss.out"] for each in reversed(trainer.advance(together)))
            return made.pop()

        return step

    return make


def torch_eager(
    work: Workload, threads: int, *, fused: bool = False, compiled: bool = False
) -> Step:
    """PyTorch with torch.optim.Adam: for each tensor on its own or foreach, as PyTorch chooses."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(threads)
    ops = TorchOperations(torch)
    variables = {k: torch.tensor(v, requires_grad=True) for k, v in work.variables.items()}
    data = {k: torch.tensor(v) for k, v in work.data.items()}
    adam = torch.optim.Adam(variables.values(), lr=LR, **({"fused": True} if fused else {}))

    def forward() -> Any:
        return work.peer(ops, variables, data)

    loss_of = torch.compile(forward) if compiled else forward
    update = torch.compile(adam.step) if compiled and not fused else adam.step

    def step() -> float:
        adam.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        update()
        return float(loss.detach())

    return step


def jax_optax(work: Workload, threads: int) -> Step:
    """One jitted function for loss, gradients and update, whose buffers are reused."""
    jax: Any = importlib.import_module("jax")
    optax: Any = importlib.import_module("optax")
    ops = JaxOperations(jax)
    adam = optax.adam(LR)
    variables = {k: jax.numpy.asarray(v) for k, v in work.variables.items()}
    data = {k: jax.numpy.asarray(v) for k, v in work.data.items()}

    def whole(variables: Any, state: Any, data: Any) -> Any:
        loss, gradients = jax.value_and_grad(lambda v: work.peer(ops, v, data))(variables)
        changes, state = adam.update(gradients, state)
        return optax.apply_updates(variables, changes), state, loss

    function = jax.jit(whole, donate_argnums=(0, 1))
    held = [variables, adam.init(variables)]

    def step() -> float:
        held[0], held[1], loss = function(held[0], held[1], data)
        return float(loss)

    return step


def jax_alone(work: Workload, threads: int) -> Step:
    """One jitted function for loss, gradients and Adam written out, whose buffers are reused."""
    jax: Any = importlib.import_module("jax")
    jnp = jax.numpy
    ops = JaxOperations(jax)
    variables = {k: jnp.asarray(v) for k, v in work.variables.items()}
    data = {k: jnp.asarray(v) for k, v in work.data.items()}

    def whole(variables: Any, means: Any, squares: Any, count: Any, data: Any) -> Any:
        loss, gradients = jax.value_and_grad(lambda v: work.peer(ops, v, data))(variables)
        count = count + 1
        means = {k: 0.9 * means[k] + 0.1 * g for k, g in gradients.items()}
        squares = {k: 0.999 * squares[k] + 0.001 * g * g for k, g in gradients.items()}
        scale, root = LR / (1 - 0.9**count), 1 / (1 - 0.999**count)
        variables = {
            k: v - scale * means[k] / (jnp.sqrt(squares[k] * root) + 1e-8)
            for k, v in variables.items()
        }
        return variables, means, squares, count, loss

    function = jax.jit(whole, donate_argnums=(0, 1, 2))
    zeros = [{k: jnp.zeros_like(v) for k, v in variables.items()} for _ in range(2)]
    held = [variables, *zeros, jnp.float32(0)]

    def step() -> float:
        *held[:], loss = function(*held, data)
        return float(loss)

    return step


SYSTEMS: dict[str, tuple[str, Callable[[Workload, int], Step]]] = {
    "gradwire": ("numpy", ours(fast=False)),
    "gradwire-fast": ("llvmlite", ours(fast=True)),
    "gradwire-jax": ("jax", ours(engine="jax")),
    f"gradwire-jax-{TOGETHER}": ("jax", ours(TOGETHER, engine="jax")),
    "torch": ("torch", torch_eager),
    "torch-fused": ("torch", lambda work, threads: torch_eager(work, threads, fused=True)),
    "torch-compiled": ("torch", lambda work, threads: torch_eager(work, threads, compiled=True)),
    "jax": ("jax", jax_alone),
    "jax-optax": ("optax", jax_optax),
}


OURS = [system for system in SYSTEMS if system.startswith("gradwire")]


def _steps(name: str, threads: int, only: Collection[str]) -> tuple[Workload, dict[str, Step]]:
    work = WORKS[name]()
    steps: dict[str, Step] = {}
    for system, (module, make) in SYSTEMS.items():
        if system in only and find_spec(module):
            steps[system] = make(work, threads)
    return work, steps


def measure(name: str, threads: int, seconds: float, only: Collection[str]) -> dict[str, Any]:
    """Medians of interleaved samples, in seconds a step."""
    work, steps = _steps(name, threads, only)
    losses = {system: [step() for _ in range(AGREEING)] for system, step in steps.items()}
    _require_agreement(losses)
    each = -(-work.calls // TOGETHER) * TOGETHER  # whole calls of a loop, wherever one begins
    return {
        "work": name,
        "about": work.about,
        "threads": threads,
        "losses": losses,
        **summary(
            take_turns(steps, each, seconds, threads),
            [system for system in steps if system.startswith("gradwire")],
        ),
    }


def _require_agreement(losses: dict[str, list[float]]) -> None:
    """Raise SystemExit unless all systems had the same losses."""
    first, expected = next(iter(losses.items()))
    for system, found in losses.items():
        worst = float(np.max(np.abs(np.subtract(found, expected)) / np.abs(expected)))
        if not worst < TOLERANCE:
            raise SystemExit(f"{system} and {first} differ by {worst:.2g}: {found} {expected}")


def memory(name: str, system: str, threads: int) -> float:
    """Peak resident memory of this process, in MiB, after ten steps of one system."""
    _, steps = _steps(name, threads, (system,))
    for _ in range(10):
        steps[system]()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def markdown(rows: list[dict[str, Any]]) -> str:
    """For each network: our milliseconds, and how many times as long the peers take; MiB of all."""
    peers = [system for system in SYSTEMS if not system.startswith("gradwire")]
    peers = [peer for peer in peers if any(peer in row["median"] for row in rows)]
    heads = [
        "network",
        "threads",
        *(f"{ours}, ms" for ours in OURS),
        *(f"{p} × {' / '.join(OURS)}" for p in peers),
    ]
    lines = [[*heads, "MiB"], ["---"] * (len(heads) + 1)]
    for row in rows:
        told = [row["work"], str(row["threads"])]
        told += [f"{row['median'].get(s, 0) * 1e3:.4g}" for s in OURS]
        told += [
            " / ".join(f"{found[peer]:.2f}" for found in row["ratio"].values() if peer in found)
            for peer in peers
        ]
        told.append(", ".join(f"{system} {mib:.0f}" for system, mib in row["memory"].items()))
        lines.append(told)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="*", default=list(WORKS))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--child")
    options = parser.parse_args()
    threads = options.threads[0]
    if options.child == "time":
        print(json.dumps(measure(options.work[0], threads, options.seconds, options.systems)))
        return
    if options.child:
        print(json.dumps(memory(options.work[0], options.child, threads)))
        return
    rows = []
    for threads in options.threads:
        for name in options.work:
            common = (
                name, "--threads", str(threads), "--seconds", str(options.seconds),
                "--systems", *options.systems,
            )  # fmt: skip
            row = processes.child(threads, "tests.benchmarks.training", *common, "--child", "time")
            row["memory"] = {
                system: processes.child(
                    threads, "tests.benchmarks.training", *common, "--child", system
                )
                for system in row["median"]
            }
            rows.append(row)
            print(markdown([row]), file=sys.stderr, flush=True)
    print(markdown(rows))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
