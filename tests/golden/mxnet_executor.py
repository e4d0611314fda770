"""Logs of MXNet executors, played through a Session: requests, output gradients, groups, shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from gradwire.blocks.errors import HeadError
from gradwire.runtime.build import block, build, variable
from gradwire.runtime.engine import Run, Session
from tests.golden.cases import Case, choices, identified
from tests.golden.comparison import FLOAT32, Comparison
from tests.golden.diagrams import out
from tests.golden.formulas import formula
from tests.golden.symbols import Symbol

CHOICES = choices("mxnet_executor")


def cases(document: Mapping[str, Any]) -> Iterator[Case]:
    """The executors' logs, the inferred shapes, and the symbol that stands by itself."""
    for identity, case in identified(document):
        yield Case(identity, partial(check, case))
    for entry in document.get("infer_shape", ()):
        yield Case(f"infer_shape {entry['expr']}", partial(check_shapes, entry))
    if "seed_symbol_json" in document:
        yield Case("seed_symbol_json", partial(check_symbol, document["seed_symbol_json"]))
    for entry in document.get("naming", ()):
        yield Case(f"naming {entry['manager']}", None, CHOICES["left_out"]["naming"])


def check(case: Mapping[str, Any]) -> Comparison:
    """Bind, then forward and backward as the log says."""
    executor = _Executor(case)
    for i, entry in enumerate(case["log"]):
        executor.play(f"log {i}, {entry['do']}", entry)
    return executor.comparison


def check_shapes(entry: Mapping[str, Any]) -> Comparison:
    """Arguments in graph order, and all shapes from the one that is given, without a run."""
    comparison = Comparison()
    names = entry["list_arguments"]
    expected = dict(zip(names, entry["arg_shapes"], strict=True))
    made = {name: variable(name) for name in names}
    layers = {
        name.removesuffix("_weight"): partial(_layer, made, name.removesuffix("_weight"), shape[0])
        for name, shape in expected.items()
        if name.endswith("_weight")
    }
    aliases = {"MakeLoss": partial(block, "Loss"), "BlockGrad": partial(block, "StopGradient")}
    head = formula(entry["expr"], {**made, **layers, **aliases}).named("head")
    shapes = Session(build(head)).infer_shapes(entry["given"])
    comparison.same("arguments", names, list(shapes.arguments))
    for name, shape in expected.items():
        comparison.same(f"shape of {name}", tuple(shape), shapes.arguments.get(name))
    comparison.same("shape of the output", tuple(entry["out_shapes"][0]), shapes.ports["head.out"])
    return comparison


def check_symbol(text: Mapping[str, Any]) -> Comparison:
    """The symbol's arguments in graph order."""
    symbol = Symbol.parse(text)
    comparison = Comparison()
    names = [symbol.nodes[i]["name"] for i in text["arg_nodes"]]
    comparison.same("arguments", names, Session(symbol.diagram()).arguments(symbol.heads))
    return comparison


def _layer(made: Mapping[str, Any], name: str, units: int, x: Any) -> Any:
    """FullyConnected with the variables that MXNet makes for it."""
    return block("Linear", x, made[f"{name}_weight"], made.get(f"{name}_bias"), units=units)


class _Executor:
    """A session bound as MXNet binds, beside one for the loss heads that MXNet can't stop."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.case = case
        self.comparison = Comparison(tolerance=FLOAT32)
        self.symbol = Symbol.parse(case["symbol"])
        self.session, self.leaking = self._bound(), self._bound()
        for name, filled in (case.get("prefilled_grads") or {}).items():
            shape = case["bind_shapes"][name]
            self.session.gradients[name] = np.full(shape, filled, np.float32)
        listed = case.get("list_arguments")
        if listed is not None:
            got = self.session.arguments(self.symbol.heads)
            self.comparison.same("arguments", listed, got)

    def _bound(self) -> Session:
        session = Session(self.symbol.diagram())
        for name, value in self.case["values"].items():
            array = np.asarray(value, np.float32)
            shape = self.case.get("bind_shapes", {}).get(name, array.shape)
            session.set(name, np.broadcast_to(array, shape))
        return session

    def play(self, what: str, entry: Mapping[str, Any]) -> None:
        """Do one entry of the log and compare what it gives, or the error it ends in."""
        steps: Mapping[str, Callable[[str, Mapping[str, Any]], None]]
        steps = {"forward": self._forward, "backward": self._backward}
        if entry["do"] not in steps:
            raise ValueError(f"{what}: only forward and backward can be done")
        if "error" not in entry:
            steps[entry["do"]](what, entry)
            return
        try:
            self._gradients(entry)
        except HeadError:
            self.comparison.same(what, "HeadError", "HeadError")
        else:
            self.comparison.missing(what, f"HeadError, as MXNet's: {entry['error'][:60]}")

    def _forward(self, what: str, entry: Mapping[str, Any]) -> None:
        values = self.session.run().values
        for head, expected in zip(self.symbol.heads, entry["outputs"], strict=True):
            got = values[out(head)]
            self.comparison.close(f"{what}: {head}", expected, got)
            self.comparison.same(f"{what}: dtype of {head}", "float32", str(got.dtype))

    def _backward(self, what: str, entry: Mapping[str, Any]) -> None:
        run = self._gradients(entry)
        leaks = self._leaks()
        ours = CHOICES["gradients"].get(self.case["id"], {})
        for name, expected in entry["grad_dict"].items():
            gradient = run.gradients.get(name)
            if name in ours:
                self.comparison.close(f"{what}: our gradient of {name}", ours[name], gradient)
            if gradient is not None and leaks.get(name) is not None:
                gradient = gradient + leaks[name]
            self.comparison.close(f"{what}: gradient of {name}", expected, gradient)

    def _gradients(self, entry: Mapping[str, Any]) -> Run:
        heads = self.symbol.heads
        given = dict(zip(heads, entry.get("out_grads") or (), strict=False))
        return self.session.backward(
            heads,
            out_gradients=self._of_probes() | given,
            unconnected="zero",
            request=self.case.get("grad_req", "write"),
        )

    def _of_probes(self) -> dict[str, Any]:
        """Output gradients of stopped heads, which pass nothing on; MXNet asks for none."""
        program = self.session.program
        return {name: np.ones(program.shape(out(name))) for name in self.symbol.stopped_heads}

    def _leaks(self) -> Mapping[str, Any]:
        """What MXNet's gradients have besides ours: what stopped loss heads send all the same."""
        stopped = self.symbol.stopped_losses
        if not stopped:
            return {}
        request = self.case.get("grad_req", "write")
        return self.leaking.backward(stopped, unconnected="zero", request=request).gradients
