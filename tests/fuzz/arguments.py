"""Wrong arguments to the public functions: an error of Gradwire that says what was expected."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gradwire.runtime.build as b
from gradwire.blocks.errors import GradwireError, Location
from gradwire.blocks.registry import registry
from gradwire.runtime import diagram as files
from gradwire.runtime import flow
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.training.optimisers import SGD, Adam, RMSprop
from tests.fuzz.runner import Program

if TYPE_CHECKING:
    from random import Random

    from gradwire.runtime.diagram import Diagram


class Odd:
    """Nothing that anyone expects."""

    def __repr__(self) -> str:
        return "<odd>"


@cache
def _values() -> tuple[Any, ...]:
    x = b.variable("x", [1.0, 2.0])
    diagram = b.build(b.loss(b.sum(b.mul(x, 3.0, name="m")), name="L"))
    return (
        None, True, 0, -1, 3, 10**400, 1.5, math.nan, math.inf, 2 + 1j, "", "x", "L", "m.out",
        "m.a", "no/such.thing", "\ud800", "flows(L -> x)", b"x", [], [1, [2]], ["x"], [None],
        (), {}, {"x": 1}, {"x": None}, {1: 2}, {"x": Odd()}, {"x"}, range(3), iter([1]), Odd(), Odd,
        len, np.float32(1), np.array([1.0, 2.0]), np.array("x"), np.array([None]), np.zeros((0, 3)),
        np.array(["2026"], "datetime64[D]"), Path("/nowhere/x.gradwire.json"), x, b.loss(x),
        diagram, diagram.main, Session(diagram), Session(diagram).program, Location(), SGD(0.1),
        slice(None), Exception("no"), ..., memoryview(b"ab"),
    )  # fmt: skip


def _session() -> Session:
    return Session(_diagram())


def _diagram() -> Diagram:
    x, y = b.variable("x", [1.0, 2.0]), b.input("y", shape=[2])
    return b.build(b.loss(b.sum(b.mul(b.stop_gradient(x, name="s"), y)), name="L"))


CALLS: dict[str, Callable[..., Any]] = {
    "variable": b.variable, "constant": b.constant, "input": b.input, "build": b.build,
    "block": b.block, "loss": b.loss, "stop_gradient": b.stop_gradient, "page": b.page,
    "add": b.add, "conv2d": b.conv2d, "reshape": b.reshape, "concat": b.concat, "clip": b.clip,
    "Session": Session, "run": lambda *a, **k: _session().run(*a, **k),
    "backward": lambda *a, **k: _session().backward(*a, **k),
    "prepare": lambda *a, **k: _session().prepare(*a, **k),
    "set": lambda *a, **k: _session().set(*a, **k),
    "step": lambda *a, **k: _session().step(*a, **k),
    "update": lambda *a, **k: _session().update(*a, **k),
    "infer_shapes": lambda *a, **k: _session().infer_shapes(*a, **k),
    "arguments": lambda *a, **k: _session().arguments(*a, **k),
    "SGD": SGD, "Adam": Adam, "RMSprop": RMSprop,
    "analyse": analyse, "observe": flow.observe, "diagnose": flow.diagnose,
    "fix": flow.fix, "fixes": flow.fixes, "dialects": flow.dialects, "Thresholds": flow.Thresholds,
    "loss_matrix": flow.loss_matrix, "check_gradients": flow.check_gradients,
    "contracts_of": flow.contracts_of, "parse_contracts": flow.parse_contracts,
    "check_contracts": flow.check_contracts, "WhatIf": flow.WhatIf,
    "verdict": lambda *a, **k: analyse(_session().program).verdict(*a, **k),
    "explain": lambda *a, **k: analyse(_session().program).variable(*a, **k),
    "open": lambda *a, **k: flow.WhatIf(_session()).open(*a, **k).compare(),
    "load": files.load, "loads": files.loads, "dumps": files.dumps, "check": files.check,
    "arrange": files.arrange, "json_schema": files.json_schema,
    "save": lambda *a: _saved(*a), "get": lambda *a: registry().get(*a),
}  # fmt: skip
FIRST: dict[str, tuple[Callable[[], Any], ...]] = {
    "observe": (_session,), "diagnose": (_session,), "fix": (_session,), "fixes": (_session,),
    "dialects": (_session,), "loss_matrix": (_session,), "check_gradients": (_session,),
    "analyse": (lambda: _session().program,), "variable": (lambda: "w",),
    "add": (lambda: b.variable("v", 1.0),),
    "WhatIf": (_session,), "set": (lambda: "x",), "run": (lambda: {"y": [1.0, 2.0]},),
}  # fmt: skip
"""What is right as first argument, so that others are looked at, too."""
OPTIONS = (
    "name", "shape", "dtype", "feeds", "losses", "loss", "ports", "lr", "contracts", "axis", "wrt",
    "trainable", "thresholds", "momentum", "seed", "value", "title", "fast", "page",
)  # fmt: skip


def _saved(*arguments: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files.save(*arguments[:1], Path(folder) / "d.gradwire.json", *arguments[1:2])


def argument_case(rng: Random) -> str:
    """One call with one to three arguments, of which some may be right."""
    name = rng.choice(list(CALLS))
    values = _values()
    given = [rng.choice(values) for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
    if name in FIRST and rng.random() < 0.7:
        given = [make() for make in FIRST[name]] + given[:2]
    options = {rng.choice(OPTIONS): rng.choice(values)} if rng.random() < 0.15 else {}
    try:
        CALLS[name](*given, **options)
    except GradwireError as error:
        assert error.what.strip(), "an empty message"
        return "refused"
    except TypeError as error:
        if SIGNATURE.search(str(error)):
            return "not so called"
        raise AssertionError(_call(name, given, options)) from error
    except Exception as error:
        raise AssertionError(_call(name, given, options)) from error
    return "accepted"


SIGNATURE = re.compile(r"\(\) (takes|missing|got (an unexpected|multiple))")
"""What Python says where the number or the names of arguments are wrong."""


def _call(name: str, given: list[Any], options: dict[str, Any]) -> str:
    texts = [repr(value)[:60] for value in given]
    texts += [f"{key}={value!r}"[:60] for key, value in options.items()]
    return f"{name}({', '.join(texts)})"


PROGRAMS = (
    Program("arguments", "wrong arguments are refused by an error that says why", argument_case),
)
