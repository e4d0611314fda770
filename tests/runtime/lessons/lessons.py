"""A small lesson with a step of each kind, for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradwire.runtime.build import build, loss, mul, stop_gradient, variable
from gradwire.runtime.diagram import Diagram, dumps, loads
from gradwire.runtime.diagram.lesson import Lesson

RECORD: dict[str, Any] = {
    "goal": "Tell what a stop does to values and to gradients.",
    "minutes": 5,
    "course": "foundations",
    "support": "worked",
    "hide": ["gradients", "states", "values"],
    "vary": {"w": [2, 3, 5], "x": [4, 7]},
    "steps": [
        {
            "do": "show",
            "text": "The product is {value('mul1')}. {{Braces}} stay.",
            "look": ["mul1"],
            "reveal": ["values"],
        },
        {
            "do": "predict",
            "text": "Which gradient does w get?",
            "gradient": "w",
            "hints": ["Look at mul1.", "The other factor is {value('x')}.", "So it is that."],
            "after": "It is {grad('w')}.",
            "reveal": ["gradients"],
            "feedback": {"its own value": "No: x is {value('x')}."},
        },
        {
            "do": "paint",
            "text": "Which state has each wire?",
            "wires": ["mul1.a", "mul1.b"],
            "states": ["CARRIES", "ZERO", "STOPPED"],
            "reveal": ["states"],
        },
        {
            "do": "change",
            "text": "Make w's gradient 10.",
            "goals": ["grad('w') == 10", "open('sg')"],
            "only": ["x", "sg"],
        },
        {
            "do": "build",
            "text": "Keep L from w.",
            "goals": ["blocked(L -> w)", "value('mul1') == value('w') * value('x')"],
        },
        {
            "do": "check",
            "text": "What does a stop change?",
            "options": [
                {
                    "text": "The value {value('mul1')}.",
                    "holds": "grad('w') is not None",
                    "feedback": "It is {value('mul1')} with and without.",
                },
                {"text": "The gradient.", "holds": "grad('w') is None", "feedback": "Yes."},
            ],
        },
    ],
}


def plain() -> Diagram:
    """L = w · SG(x), with w = 3 and x = 2."""
    product = mul(variable("w", 3.0), stop_gradient(variable("x", 2.0), name="sg"), name="mul1")
    return build(loss(product, name="L"), title="Stops")


def taught(**fields: Any) -> Diagram:
    """The lesson on its diagram, with other fields; read from a file, as lessons are."""
    lesson = Lesson.model_validate(RECORD | fields)
    return loads(dumps(replace(plain(), lesson=lesson)))


def with_step(**step: Any) -> Diagram:
    """A lesson of one step."""
    return taught(steps=[step], vary={})
