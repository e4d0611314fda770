"""A process that trains in children and kills them, over and over; see test_kills.

``python -m tests.runtime.training.killing random FOLDER SEED KILLS`` kills at random times,
``… points FOLDER`` before each call of the system that changes a file, and in the middle of writes.
It prints one JSON object. Children are forked, so that nothing is imported anew.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradwire as gw
from gradwire.runtime.diagram.optimisers import AdamMethod
from gradwire.runtime.diagram.training import Average, OptimiserRule, StepSchedule, Training
from gradwire.runtime.training.saving.checkpoint import load_checkpoint
from gradwire.runtime.training.saving.runs import TrainingRun

ROUNDS = 13
EVERY = 5
CALLS = ("open", "write", "fsync", "replace", "unlink", "ftruncate", "mkdir")


def diagram() -> gw.Diagram:
    """A regression on random points, with a frozen average of its weights."""
    w, b = gw.variable("w", [[0.5, -0.25]]), gw.variable("b", [0.0])
    x = gw.random_normal(shape=[4, 2], name="x")
    loss = gw.loss(gw.mean(gw.square(gw.linear(x, w, b) - gw.sum(x, axis=1, keepdims=True))))
    slow = gw.variable("slow", [[0.0, 0.0]], trainable=False)
    return gw.build(loss, slow)


RECIPE = Training(
    optimisers=(
        OptimiserRule(
            name="opt",
            method=AdamMethod(lr=0.05, amsgrad=True),
            schedule=StepSchedule(step_size=5),
            accumulate=2,
        ),
    ),
    averages=(Average(name="ema", of="w", into="slow", decay=0.9, start="zero_debiased"),),
)


def train(folder: Path, resume: bool) -> None:
    """Train to the end, from the beginning or from the last checkpoint.

    The trainer is made before the fork, and every child has a copy of it as it was then.
    """
    with TrainingRun(TRAINER, folder, every=EVERY, resume=folder if resume else None) as run:
        for _ in run.iterations(ROUNDS):
            pass
        run.finish()


def result(folder: Path) -> dict[str, Any]:
    """What two trainings must have in common, bit by bit."""
    checkpoint = load_checkpoint(folder / "checkpoints")
    return {
        "arrays": {name: a.tobytes().hex() for name, a in checkpoint.state.arrays.items()},
        "about": checkpoint.state.about,
        "rounds": checkpoint.state.iterations,
        "files": {
            name: (folder / name).read_text()
            for name in ("history.jsonl", "history.csv", "trained.gradwire.json")
        },
        "left": sorted(p.name for p in (folder / "checkpoints").iterdir()),
    }


def begun(folder: Path) -> bool:
    """Whether there is a training to resume; one killed before it wrote anything begins again."""
    return folder.exists() and any(folder.iterdir())


def in_child(work: Callable[[], None], patience: float | None = None) -> bool:
    """Run in a child; kill it after some seconds. Returns whether it came to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    if patience is not None:
        time.sleep(patience)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if status:
        raise SystemExit(f"a child failed: {status}")
    return True


def killed_at(point: int, moment: str, work: Callable[[], None]) -> bool:
    """Run in a child that kills itself at a call of the system, counted from 0."""

    def counted() -> None:
        seen = -1

        def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **given: Any) -> Any:
                nonlocal seen
                seen += 1
                if seen != point:
                    return call(*args, **given)
                if moment == "middle":
                    call(args[0], bytes(args[1])[: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
                raise AssertionError("it is dead")

            return run

        for name in CALLS if moment == "before" else ("write",):
            setattr(os, name, wrapped(name, getattr(os, name)))
        work()

    return in_child(counted)


def at_random(folder: Path, seed: int, kills: int) -> dict[str, Any]:
    """Kill at random times until there were so many kills; every training is resumed to its end."""
    chance = random.Random(seed)
    started = time.perf_counter()
    in_child(lambda: train(folder / "reference", False))
    whole = time.perf_counter() - started
    wanted, made, number, most = result(folder / "reference"), 0, 0, 0
    while made < kills:
        here, resume, chain = folder / str(number), False, 0
        while not in_child(
            lambda here=here, resume=resume: train(here, resume),
            chance.uniform(0.0, 1.1 * whole) if chain < 8 else None,
        ):
            made, chain = made + 1, chain + 1
            resume = begun(here)
        number, most = number + 1, max(most, chain)
        if result(here) != wanted:
            return {"kills": made, "same": False, "folder": str(here)}
        shutil.rmtree(here)
    return {"kills": made, "same": True, "longest_chain": most}


def at_points(folder: Path) -> dict[str, Any]:
    """Kill at every call of the system, then resume to the end."""
    in_child(lambda: train(folder / "reference", False))
    wanted, kills, points = result(folder / "reference"), 0, 0
    for moment in ("before", "middle"):
        for point in range(10_000):
            here = folder / f"{moment}{point}"
            if killed_at(point, moment, lambda here=here: train(here, False)):
                break
            kills += 1
            in_child(lambda here=here: train(here, begun(here)))
            if result(here) != wanted:
                return {"kills": kills, "same": False, "folder": str(here)}
            shutil.rmtree(here)
        points = max(points, point)
    return {"kills": kills, "same": True, "points": points}


TRAINER = gw.Trainer(gw.Session(diagram()), RECIPE)

if __name__ == "__main__":
    how, place, *rest = sys.argv[1:]
    found = at_random(Path(place), *map(int, rest)) if how == "random" else at_points(Path(place))
    print(json.dumps(found))
