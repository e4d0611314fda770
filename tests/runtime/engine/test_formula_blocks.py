"""A Formula block computes what the blocks of its expression would, at paths below its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradwire.runtime.build as b
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.formulas.content import content_of
from gradwire.runtime.diagram import Diagram, PortName, SetParameters, apply, dumps, loads, unfold
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, WhatIf, check_gradients, fix
from gradwire.runtime.flow.analyse import analyse

NAMES = st.sampled_from(["w", "x", "b"])
EXPRESSIONS = st.recursive(
    NAMES | st.sampled_from(["0.5", "2"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds(
            "{}({})".format,
            st.sampled_from(["tanh", "relu", "round", "stop_gradient", "square", "-"]),
            inner,
        ),
        st.builds("where({} > {}, {}, {})".format, inner, inner, inner, inner),
    ),
    max_leaves=8,
)


def diagram_of(expression: str) -> Diagram:
    sources: dict[str, Any] = {
        "w": b.variable("w", [0.7, -1.2]),
        "x": b.input("x", [1.5, 0.3]),
        "b": b.variable("b", 0.4),
    }
    wires = {name: sources[name] for name in content_of(expression).inputs}
    block = b.block("Formula", expression=expression, name="f", **wires)
    return b.build(b.loss(b.sum(block), name="loss"))


@pytest.mark.night
@settings(max_examples=60, deadline=None)
@given(expression=EXPRESSIONS.map("{} + w".format))
def test_it_equals_the_blocks_it_unfolds_into(expression: str) -> None:
    folded = diagram_of(expression)
    flat = apply(folded, unfold(folded, "main", "f")).after
    assert not any(block.type_name() == "Formula" for block in flat.main.blocks.values())
    one, other = Session(folded).backward(), Session(flat).backward()
    np.testing.assert_array_equal(one.values["loss.out"], other.values["loss.out"])
    assert one.gradients.keys() == other.gradients.keys()
    for name, gradient in one.gradients.items():
        assert (gradient is None) == (other.gradients[name] is None), name
        np.testing.assert_array_equal(gradient, other.gradients[name])
    inside, outside = (analyse(Session(d).program).variable("w") for d in (folded, flat))
    assert inside.state is outside.state


def test_every_value_and_wire_inside_has_a_path():
    run = Session(diagram_of("(w * x + b)**2")).backward()
    np.testing.assert_allclose(run.values["f/mul1.out"], [1.05, -0.36])
    np.testing.assert_array_equal(run.values["f.out"], run.values["f/pow1.out"])
    np.testing.assert_allclose(run.contributions["f/add1.a"], 2 * run.values["f/add1.out"])
    assert run.contributions["f.w"] is not None


def test_a_wrong_shape_is_an_error_of_the_operation():
    session = Session(diagram_of("w @ x[0] + b"), partial=True)
    (problem,) = [d for d in session.program.diagnostics if d.severity == "error"]
    assert (problem.location.page, problem.location.block) == ("main", "f/mat_mul1")


def test_why_names_the_operation_inside_and_what_if_opens_it():
    diagram = diagram_of("stop_gradient(w) * x + round(b)")
    session = Session(diagram)
    verdict = analyse(session.program).variable("w")
    assert verdict.state is State.STOPPED
    assert verdict.sentence == "f/stop_gradient1 stops every route to loss."
    found = fix(session, "w")
    assert found is not None and found.change is not None
    assert found.sentence.startswith("Without f/stop_gradient1: ")
    repaired = apply(diagram, found.change).after
    expression = repaired.main.blocks["f"].to_record()["expression"]
    assert expression == "stop_gradient(w, open=True) * x + round(b)"
    np.testing.assert_allclose(Session(repaired).backward().gradients["w"], [1.5, 0.3])
    trial = WhatIf(session).open("f/stop_gradient1").close("f/stop_gradient1")
    assert (
        trial.diagram.main.blocks["f"]
        .to_record()["expression"]
        .startswith("stop_gradient(w, open=False, spare=[])")
    )


def test_wires_inside_can_only_be_cut_once_it_is_unfolded():
    session = Session(diagram_of("w * x + b"))
    with pytest.raises(ChangeError, match="f/add1 is inside f: unfold that Formula"):
        WhatIf(session).cut("f/add1.a").as_change()
    found = fix(Session(diagram_of("where(w > x, 1.0, 0.0) * b")), "w")
    assert found is not None and "inside f: unfold that Formula" in found.sentence


def test_the_gradient_check_looks_inside():
    session = Session(diagram_of("abs(w * 0) + tanh(x * b)"))
    checks = check_gradients(session)
    assert {check.block for check in checks} >= {"f/abs1", "f/tanh1", "f/mul1"}
    assert all(not check.is_wrong for check in checks)


def test_a_new_literal_needs_no_new_trace():
    diagram = diagram_of("w * x + b")
    change = SetParameters("f", {"expression": "w * x + c"})
    diagram = apply(diagram, change).after
    assert diagram.main.wires[PortName("f", "c")] == PortName("b", "out"), "renamed with its wire"
    diagram = apply(diagram, SetParameters("f", {"expression": "w * x + c * k", "k": 2.0})).after
    session = Session(diagram)
    program = session.program
    np.testing.assert_allclose(session.run().values["f.out"], [1.85, 0.44])
    changed = apply(diagram, SetParameters("f", {"k": 3.0})).after
    session.update(changed)
    assert session.program is program, "only a number differs"
    np.testing.assert_allclose(session.run().values["f.out"], [2.25, 0.84])


def test_another_expression_drops_what_has_no_port_any_more():
    diagram = apply(diagram_of("w * x + b"), SetParameters("f", {"expression": "w * 2"})).after
    assert [str(t) for t in diagram.main.wires if t.block == "f"] == ["f.w"]
    with_literal = apply(diagram, SetParameters("f", {"expression": "w * k", "k": 2.0})).after
    renamed = apply(with_literal, SetParameters("f", {"expression": "w * factor"})).after
    assert renamed.main.blocks["f"].to_record()["factor"] == 2.0
    gone = apply(renamed, SetParameters("f", {"expression": "w * w"})).after
    assert gone.main.blocks["f"].to_record() == {"expression": "w * w"}
    with pytest.raises(ChangeError, match="at character 5, There is no block 'sinn'"):
        apply(gone, SetParameters("f", {"expression": "w * sinn(w)"}))


def test_it_is_saved_and_read():
    diagram = diagram_of("d = w * x\nd + b")
    assert loads(dumps(diagram)) == diagram
    broken = dumps(diagram).replace("d + b", "d + ?")
    (block,) = [b for b in loads(broken).main.blocks.values() if b.type_name() == "Opaque"]
    assert block.to_record() == {"expression": "d = w * x\nd + ?"}
    problems = Session(loads(broken), partial=True).program.diagnostics
    assert any("This is no formula" in str(problem) for problem in problems)
