"""TensorFlow's stop_gradient and tape, as far as diagrams can say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradwire.blocks.values import DTYPES
from gradwire.runtime.build import Expression, block, build, constant, variable
from gradwire.runtime.engine import Session
from tests.golden.cases import Case, choices, identified
from tests.golden.comparison import FLOAT32, Comparison
from tests.golden.formulas import formula
from tests.golden.gradients import heads_of

CHOICES = choices("tf_behaviour")

GRADIENT = re.compile(
    r"grad of (?P<targets>.+?)( \(.*?\))?( with output_gradients (?P<seed>\[.*?\]))?"
    r"( wrt (?P<wrt>\w+(,\w+)*)(=.*)?)?"
)
"""``grad of stop(x)*y wrt x,y``, as most of the expressions read."""


def cases(document: Mapping[str, Any]) -> Iterator[Case]:
    """All of them; what is no matter of diagrams is left out."""
    given = {name: document[name] for name in ("x", "y") if name in document}
    for identity, case in identified(document):
        dtype = identity.removeprefix("dtype_") if identity.startswith("dtype_") else None
        if identity in CHOICES["left_out"]:
            yield Case(identity, None, CHOICES["left_out"][identity])
        elif dtype is None:
            yield Case(identity, partial(check, case, given))
        elif dtype in DTYPES:
            yield Case(identity, partial(check_dtype, case, dtype))
        else:
            yield Case(identity, None, f"Gradwire has no {dtype}.")


def check_dtype(case: Mapping[str, Any], dtype: str) -> Comparison:
    """A stop gives back the type and the numbers it gets."""
    comparison = Comparison()
    given = np.array([1, 0], dtype)
    stop = block("StopGradient", constant("c", given, dtype=dtype)).named("stop")
    got = Session(build(stop)).run().values["stop.out"]
    comparison.same("dtype", case["result"], str(got.dtype))
    comparison.close("value", given.tolist(), got)
    return comparison


def check(case: Mapping[str, Any], given: Mapping[str, Any]) -> Comparison:
    """Values and gradients of the program that the case is in our words."""
    program = CHOICES["programs"].get(case["id"], {})
    if "targets" not in program and "values" not in program:
        program = _read(case) | program
    diagram = _Program(given, program)
    got = diagram.values() + diagram.gradients()
    expected = [_expected(case, program)] if len(got) == 1 else _expected(case, program)
    comparison = Comparison(tolerance=FLOAT32)
    comparison.same("number of results", len(expected), len(got))
    for i, (wanted, (what, result)) in enumerate(zip(expected, got, strict=False)):
        comparison.close(f"result {i}, {what}", wanted, result)
    return comparison


def _read(case: Mapping[str, Any]) -> dict[str, Any]:
    """The program that the expression of a case spells out."""
    match = GRADIENT.fullmatch(case["expr"])
    if match is None:
        raise ValueError(f"{case['expr']!r} needs a program in choices/tf_behaviour.json")
    targets = match["targets"].removeprefix("[").removesuffix("]")
    seed = match["seed"]
    return {
        "targets": [targets] if targets == match["targets"] else targets.split(", "),
        "wrt": (match["wrt"] or "x").split(","),
        "seeds": None if seed is None else [[float(n) for n in seed.strip("[]").split(",")]],
    }


def _expected(case: Mapping[str, Any], program: Mapping[str, Any]) -> Any:
    """Our result where it is another by choice, else TensorFlow's."""
    if "expect" in program:
        return program["expect"]
    if "error" in case:
        raise ValueError(f"ends in an error of TensorFlow's, and nothing says in ours: {case}")
    constant_pieces = CHOICES["piecewise_constant"]
    functions = re.findall(r"\w+(?=\()", case["expr"])
    if case["result"] is None and set(functions) & set(constant_pieces["functions"]):
        return constant_pieces["expect"]
    return case["result"]


class _Program:
    """A diagram made of formulas, and what is read of it.

    ``variables`` and ``constants`` by name, besides x and y; ``let`` names intermediate values;
    ``targets`` are differentiated together, vectors summed or weighted by ``seeds``, ``wrt``
    what is named (null: what is trained); ``values`` are read forward.
    """

    def __init__(self, given: Mapping[str, Any], program: Mapping[str, Any]) -> None:
        self.program = program
        sources = {name: {"value": value} for name, value in given.items()}
        self.names: dict[str, Any] = {
            name: partial(self._function, text) for name, text in CHOICES["functions"].items()
        }
        for name, record in (sources | program.get("variables", {})).items():
            self.names[name] = variable(name, **record)
        for name, record in program.get("constants", {}).items():
            self.names[name] = constant(name, **record)
        for name, text in program.get("let", {}).items():
            self.names[name] = formula(text, self.names).named(name)
        self.targets = [
            self._target(i, formula(text, self.names))
            for i, text in enumerate(program.get("targets", ()))
        ]
        made = [value for value in self.names.values() if isinstance(value, Expression)]
        self.session = Session(build(*made, *self.targets))

    def _function(self, text: str, x: Expression) -> Any:
        return formula(text, self.names | {"x": x})

    def _target(self, index: int, target: Expression) -> Expression:
        return target if target.node.name else target.named(f"target{index}")

    def values(self) -> list[tuple[str, Any]]:
        """The values that are read, or their shapes."""
        read = self.program.get("values", ())
        values = self.session.run().values if read else {}
        if self.program.get("read") == "shape":
            return [(f"shape of {name}", np.array(values[f"{name}.out"].shape)) for name in read]
        return [(f"value of {name}", values[f"{name}.out"]) for name in read]

    def gradients(self) -> list[tuple[str, Any]]:
        """The gradients that are read, of as many passes as are asked for."""
        if not self.targets:
            return []
        wrt: Sequence[str] | None = self.program.get("wrt")
        seeds = self.program.get("seeds") or [None] * len(self.targets)
        heads, out_gradients = heads_of(
            self.session,
            [
                {"node": target.node.name, "seed": seed}
                for target, seed in zip(self.targets, seeds, strict=True)
            ],
        )
        run = self.session.backward(
            heads,
            out_gradients=out_gradients,
            wrt=wrt,
            unconnected=self.program.get("unconnected", "none"),
        )
        read = self.program.get("gradients", wrt or ())
        return [(f"gradient of {name}", run.gradients.get(name)) for name in read]
