"""A primitive is added in one place: all that computes or writes it reads its row."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks import Block
from gradwire.blocks.errors import BlockDefinitionError
from gradwire.blocks.registry import registry
from gradwire.runtime.calculus import Primitive
from gradwire.runtime.calculus.spelling import Spelling
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan.passes.elementwise.fused import FusedTask
from gradwire.runtime.engine.plan.passes.scalars import NativeScalarTask
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.interchange.export.content import content_of
from gradwire.runtime.interchange.export.rows import ExportError
from gradwire.runtime.interchange.export.source import export_source, exported_files
from gradwire.runtime.interchange.export.systems.onnx.model import onnx_model
from gradwire.runtime.lessons.derivative.local import rules
from gradwire.runtime.lessons.derivative.notation import PLAIN, FormulaText
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.publishing import publish
from gradwire.runtime.publish.living.writing.html import Needs
from tests.runtime.interchange.export.comparing import compare
from tests.runtime.interchange.export.examples import run
from tests.runtime.publish.living import node
from tests.runtime.publish.living.oracle import work_of
from tests.runtime.publish.living.writing.test_html import unpacked


def sech_kernel(x: Any, *, out: Any) -> None:
    np.cosh(x, out=out)
    np.reciprocal(out, out=out)


SECH = Primitive(
    "sech",
    lambda x: (x.shape, x.dtype),
    sech_kernel,
    (lambda xp, g, out, x: -g * out * xp.tanh(x),),
    elementwise=True,
    transcendental=True,
    spelling=Spelling(
        numpy="1 / np.cosh(a)",
        torch="1 / torch.cosh(a)",
        jax="1 / jnp.cosh(a)",
        onnx="Reciprocal(Cosh(a))",
        javascript="1/Math.cosh(a)",
        scalar="2/(exp(a)+exp(-a))",
        latex=r"\operatorname{sech}",
    ),
)
NUMBERS = np.array([0.3, -1.2, 2.0, 0.1])
VALUES = 1 / np.cosh(NUMBERS)
SLOPES = -VALUES * np.tanh(NUMBERS)


class Sech(Block):
    """Hyperbolic secant, ``out = 1 / cosh(x)``."""

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.trace.apply(SECH, xp.as_float(x))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry()._classes, "Sech", Sech)


def sech(x: Any, name: str | None = None) -> Any:
    return b.block("Sech", x, name=name)


def diagram(numbers: Any = NUMBERS, dtype: str = "float64") -> Any:
    """The loss is Σ sech(x)²; what is squared needs brackets where sech is written as 1 / cosh."""
    x = b.variable("x", numbers, dtype=dtype)
    return b.build(b.loss(b.sum(b.square(sech(x, "s"))), name="loss"))


def test_it_runs_and_its_gradient_is_that_of_finite_differences():
    session = Session(diagram())
    np.testing.assert_allclose(session.run().values["s.out"], VALUES, rtol=1e-14)
    gradient = session.backward().gradients["x"]
    step = 1e-6
    for place in range(NUMBERS.size):
        shift = step * np.eye(NUMBERS.size)[place]
        above, below = (np.sum(np.cosh(NUMBERS + s) ** -2.0) for s in (shift, -shift))
        assert gradient[place] == pytest.approx((above - below) / (2 * step), rel=1e-8)


def test_second_derivatives_follow():
    x = b.variable("x", NUMBERS, dtype="float64")
    slope = b.block("Gradient", b.sum(sech(x)), x)
    found = Session(b.build(b.loss(b.sum(slope)))).backward().gradients["x"]
    np.testing.assert_allclose(found, VALUES * (np.tanh(NUMBERS) ** 2 - VALUES**2), rtol=1e-12)


def test_arrays_of_it_are_compiled():
    pytest.importorskip("llvmlite")
    numbers = np.linspace(-30, 30, 300_007)
    session = Session(diagram(numbers, "float32"), fast=True)
    run = session.prepare()
    assert any(
        isinstance(task, FusedTask) and any(t.value.primitive is SECH for t in task.tasks)
        for _, task in run.plan.parts
    )
    found = session.backward().gradients["x"]
    values = 1 / np.cosh(numbers.astype("float32").astype("float64"))
    expected = -2 * values**2 * np.tanh(numbers)
    np.testing.assert_allclose(found, expected, rtol=3e-6, atol=1e-20)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scalars_of_it_are_compiled(dtype: str):
    pytest.importorskip("llvmlite")
    x = b.variable("x", 0.7, dtype=dtype)
    session = Session(b.build(b.loss(sech(sech(x) * x + 0.25))), fast=True)
    run = session.prepare()
    (task,) = [task for _, task in run.plan.parts if isinstance(task, NativeScalarTask)]
    assert sum(t.value.primitive is SECH for t in task.tasks) == 2
    inner = 0.7 / np.cosh(0.7) + 0.25
    expected = -np.tanh(inner) / np.cosh(inner) * (1 - 0.7 * np.tanh(0.7)) / np.cosh(0.7)
    for _ in range(30):  # compiled after some
        (found,) = run()
        assert found == pytest.approx(expected, rel=1e-6 if dtype == "float32" else 1e-13)


def test_jax_computes_it_without_the_host():
    pytest.importorskip("jax")
    session = Session(diagram(), engine="jax")
    np.testing.assert_allclose(session.backward().gradients["x"], 2 * VALUES * SLOPES, rtol=1e-12)
    from gradwire.runtime.engine.jax import traced

    def refuse(*_: Any) -> Any:
        raise AssertionError("called on the host")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traced, "called", refuse)
        Session(diagram(NUMBERS[:3]), engine="jax").backward()


def test_numpy_computes_what_is_exported(tmp_path: Path):
    compare(diagram(), "numpy", tmp_path)


def test_jax_computes_what_is_exported(tmp_path: Path):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        compare(diagram(), "jax", tmp_path)


def test_pytorch_computes_what_is_exported(tmp_path: Path):
    pytest.importorskip("torch")
    module = run(Session(diagram()), "torch", tmp_path)
    model = module["Model"]()
    (loss,) = model().values()
    loss.backward()
    (parameter,) = model.parameters()
    assert float(loss.detach()) == pytest.approx(np.sum(VALUES**2), rel=1e-12)
    np.testing.assert_allclose(parameter.grad.numpy(), 2 * VALUES * SLOPES, rtol=1e-12)


def test_onnx_computes_it():
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = exported_files(Session(diagram(dtype="float32")), "onnx", Path("m.onnx"))[
        Path("m.onnx")
    ]
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    runner = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    outputs = dict(zip([o.name for o in runner.get_outputs()], runner.run(None, {}), strict=True))
    assert outputs["loss.out"] == pytest.approx(np.sum(VALUES**2), rel=1e-6)


@pytest.mark.skipif(node.NODE is None, reason="node is not installed")
def test_a_page_computes_it(tmp_path: Path):
    living = living_data(diagram())
    (foreign,) = (tape["foreign"] for tape in living.data["tapes"])
    needs = Needs(foreign=foreign)
    found = node.compared(tmp_path, work_of(living, trials=2), needs)
    assert found["numbers"] > 5 and found["none"] == 0, found["wrong"]
    assert found["worst"] < 1e-12, found["where"]


def test_a_page_of_it_is_published_with_its_arithmetic():
    page = publish(diagram())
    assert '"sech": (o,[A],[p],f)=>' in unpacked(page, "code")
    assert json.loads(unpacked(page, "data"))


def big_kernel(x: Any, *, out: Any, k: float) -> None:
    np.greater(np.abs(x), k, out=out)


BIG = Primitive(
    "big",
    lambda x, k: (x.shape, "bool"),
    big_kernel,
    (None,),
    elementwise=True,
    spelling=Spelling(
        numpy="np.abs(a) > k",
        torch="torch.abs(a) > k",
        jax="jnp.abs(a) > k",
        onnx="Greater(Abs(a), k)",
        javascript="Math.abs(a)>k?1:0",
    ),
)


class Big(Block):
    """What is larger than ``k`` as it is, and the rest halved."""

    k: float = 0.5

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.where(xp.trace.apply(BIG, x, k=self.k), x, 0.5 * x)


def with_attributes(k: float) -> Any:
    """The loss is Σ x² over what is larger, and Σ (x/2)² over the rest."""
    x = b.variable("x", NUMBERS, dtype="float64")
    return b.build(b.loss(b.sum(b.square(b.block("Big", x, k=k, name="s"))), name="loss"))


@pytest.mark.skipif(node.NODE is None, reason="node is not installed")
@pytest.mark.parametrize("k", [0.25, 1.5])
def test_a_spelling_may_name_attributes(
    k: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where the result is bool, numbers in ONNX are of what it is made of."""
    monkeypatch.setitem(registry()._classes, "Big", Big)
    session, expected = Session(with_attributes(k)), np.where(abs(NUMBERS) > k, 1.0, 0.25)
    np.testing.assert_allclose(session.backward().gradients["x"], 2 * expected * NUMBERS)
    compare(with_attributes(k), "numpy", tmp_path)
    living = living_data(with_attributes(k))
    (foreign,) = (tape["foreign"] for tape in living.data["tapes"])
    found = node.compared(tmp_path, work_of(living, trials=2), Needs(foreign=foreign))
    assert found["none"] == 0 and found["worst"] < 1e-12, found["where"]
    runtime = pytest.importorskip("onnxruntime")
    model = onnx_model(content_of(session))
    (loss,) = runtime.InferenceSession(model).run(["loss.out"], {})
    assert loss == pytest.approx(np.sum(expected * NUMBERS**2), rel=1e-12)


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "onnx", "scalar"])
def test_a_spelling_that_is_no_expression_is_refused_at_once(target: str) -> None:
    with pytest.raises(BlockDefinitionError, match=f"of sech for '{target}' is not an expression"):
        replace(SECH, spelling=Spelling(**{target: "2 /"}))


def test_an_input_without_a_rule_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Sech.forward.__globals__, "SECH", replace(SECH, rules=()))
    session = Session(diagram())
    assert session.backward().gradients["x"] is None
    assert analyse(session.program).variable("x").state.name == "NO_RULE"


def test_its_derivative_is_typeset():
    block = IsolatedBlock(Sech(), {"x": NUMBERS})
    assert rules(block) == {"x": r"\left(-g\right) \cdot y \cdot \tanh\left(x\right)"}
    (value,) = block.output_values()
    (leaf,) = block.input_values().values()
    assert PLAIN.written(value, {leaf: FormulaText("x")}) == "sech(x)"


def test_without_a_spelling_what_can_not_be_written_says_so():
    silent = Primitive("silent", SECH.infer, sech_kernel, SECH.rules, elementwise=True)

    class Silent(Block):
        """The same without a spelling."""

        def forward(self, xp: Any, x: Any) -> Any:
            return xp.trace.apply(silent, x)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry()._classes, "Silent", Silent)
        drawn = b.build(b.loss(b.sum(b.block("Silent", b.variable("x", NUMBERS), name="s"))))
        with pytest.raises(ExportError, match="silent can't be written for NumPy"):
            export_source(Session(drawn), "numpy", "arrays.safetensors")
        with pytest.raises(Exception, match="no arithmetic for 'silent' of s"):
            publish(drawn)
