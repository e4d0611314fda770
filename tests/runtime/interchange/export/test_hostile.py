"""Text of a diagram never becomes code."""

from __future__ import annotations

import ast
import json

import numpy as np
import pytest

from gradwire.runtime.diagram import loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.code import Names, identifier, remark, string
from gradwire.runtime.interchange.export.source import TARGETS, export_source
from tests.runtime.interchange.export.examples import run

TEXTS = [
    '"""\nimport os; os.system("echo broken")\n"""',
    "\\",
    'x"); raise SystemExit(1)  #',
    "'''\n\x00\u2028raise SystemExit\r\n",
    "class",
    "np",
    "import",
    "__import__('os')",
    "日本語",
    "",
    "9 lives",
    "a" * 10_000,
    "\ud800",
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_identifier_is_one_and_a_remark_is_one_line(text):
    assert identifier(text).isidentifier() and identifier(text).isascii()
    assert Names({"np"}).fresh(text) != "np"
    assert ast.literal_eval(string(text)) == text and string(text).isascii()
    shown = remark(text)
    assert shown.isprintable() and shown.isascii() and '"' not in shown and "\\" not in shown
    ast.parse(f'x = 1  # {shown}\n"""{shown}."""\n')


def test_names_are_given_once():
    names = Names()
    assert [names.fresh(text) for text in ("a b", "a_b", "a-b")] == ["a_b", "a_b_2", "a_b_3"]
    assert Names(local=True).fresh("compute_noise") == "compute_noise_"


@pytest.mark.parametrize("target", TARGETS)
def test_names_and_titles_of_a_diagram_stay_text(target, tmp_path):
    names = ["np", "lambda", "print", "losses", "a-b", "a_b", "params", "jax", "torch", "ARRAYS"]
    blocks = {
        name: {"type": "Variable", "value": float(n), "dtype": "float64"}
        for n, name in enumerate(names, 1)
    }
    adds = {f"add{n}": {"type": "Add"} for n in range(1, len(names))}
    wires = {"add1.a": f"{names[0]}.out", "loss.x": f"add{len(names) - 1}.out"}
    for n, name in enumerate(names[1:], 1):
        wires[f"add{n}.b"] = f"{name}.out"
        if n > 1:
            wires[f"add{n}.a"] = f"add{n - 1}.out"
    record = {
        "gradwire": 3,
        "title": TEXTS[0],
        "description": TEXTS[0],
        "pages": {"main": {"blocks": blocks | adds | {"loss": {"type": "Loss"}}, "wires": wires}},
    }
    session = Session(loads(json.dumps(record)))
    assert not [d for d in session.diagnostics if d.severity == "error"]
    source = export_source(session, target, 'a"\n.safetensors').source
    calls = {node.func.id for node in ast.walk(ast.parse(source))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    assert not calls & {"exec", "eval", "system", "__import__"}
    if target != "numpy":
        return  # only NumPy is there in any case; examples run the others
    losses, gradients = run(session, target, tmp_path)["loss_and_gradients"]()
    assert float(losses["loss.out"]) == sum(range(1, len(names) + 1))
    assert all(float(np.asarray(gradient)) == 1 for gradient in gradients.values())
