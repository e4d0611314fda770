"""A bypassed block: one input goes through, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import ChangeError, ParameterError
from gradwire.blocks.registry import registry
from gradwire.runtime.build import add, build, loss, mul, stop_gradient, variable
from gradwire.runtime.diagram import (
    Diagram,
    Disconnect,
    PortName,
    RenameBlock,
    SetParameters,
    apply,
    dumps,
    group,
    json_schema,
    loads,
)
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, diagnose, observe
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.formulas.writing import formula_of, python_of


def seed() -> Diagram:
    """loss = stop(a · b) + c."""
    a, b, c = variable("a", [1.0, 2.0]), variable("b", [3.0, 5.0]), variable("c", [7.0, 7.0])
    return build(loss(add(stop_gradient(mul(a, b, name="mul"), name="stop"), c, name="add")))


def bypass(diagram, *names, on=True, page="main"):
    for name in names:
        diagram = apply(diagram, SetParameters(name, {"bypassed": on}, page)).after
    return diagram


def test_the_first_input_goes_through():
    run = Session(bypass(seed(), "mul")).run()
    assert run.values["mul.out"].tolist() == [1.0, 2.0]
    assert run.values["loss.out"].tolist() == [8.0, 9.0]


def test_gradient_goes_back_the_same_way():
    session = Session(bypass(seed(), "stop", "mul"))
    gradients = session.backward().gradients
    assert gradients["a"].tolist() == [1.0, 1.0]
    assert gradients["b"] is None
    assert gradients["c"].tolist() == [1.0, 1.0]


def test_the_reason_names_the_bypassed_block():
    flow = analyse(bypass(seed(), "mul", "stop"))
    assert flow.state("mul.a") is State.CARRIES
    assert flow.state("mul.b") is State.OFF_ROUTE
    for sentence in (flow.verdict("mul.b").sentence, flow.variable("b").sentence):
        assert sentence.endswith("mul is bypassed: only its input a goes on.")
    assert "bypassed" not in flow.variable("a").sentence


def test_a_bypassed_stop_stops_nothing():
    found = diagnose(Session(bypass(seed(), "stop")))
    assert not [finding for finding in found if finding.key in ("a", "b")]


def test_a_wired_input_goes_through_before_a_literal():
    kinds = registry()
    blocks = {"x": kinds.get("Variable")(value=2.0), "mul": kinds.get("Mul")(a=3.0)}
    page = type(seed().main)(blocks, {PortName("mul", "b"): PortName("x", "out")})
    run = Session(bypass(Diagram({"main": page}), "mul")).run()
    assert run.values["mul.out"] == 2.0


def test_a_choice_lets_its_first_value_through_and_not_the_condition():
    kinds = registry()
    blocks = {
        "condition": kinds.get("Constant")(value=True),
        "x": kinds.get("Variable")(value=2.0),
        "where": kinds.get("Where")(b=0.0, bypassed=True),
    }
    wires = {
        PortName("where", "condition"): PortName("condition", "out"),
        PortName("where", "a"): PortName("x", "out"),
    }
    run = Session(Diagram({"main": type(seed().main)(blocks, wires)})).run()
    assert run.values["where.out"] == 2.0


def test_own_variables_stay_and_get_no_gradient():
    kinds = registry()
    weight = {"variable": {"value": [[1.0], [1.0]]}}
    blocks = {
        "x": kinds.get("Variable")(value=[[1.0, 2.0]]),
        "fc": kinds.get("Linear").from_record({"weight": weight, "bypassed": True}),
        "loss": kinds.get("Loss")(),
    }
    wires = {
        PortName("fc", "x"): PortName("x", "out"),
        PortName("loss", "x"): PortName("fc", "out"),
    }
    flow = observe(Session(Diagram({"main": type(seed().main)(blocks, wires)})))
    assert flow.gradient("x").tolist() == [[1.0, 1.0]]
    assert flow.gradient("fc/weight") is None
    assert "fc is bypassed: only its input x goes on." in flow.variable("fc/weight").sentence


def test_inside_a_page_it_works_for_every_use():
    grouped = apply(seed(), group(seed(), "main", ["mul", "stop"])).after
    inner = next(name for name in grouped.pages if name != "main")
    flow = observe(Session(bypass(grouped, "mul", "stop", page=inner)))
    assert flow.gradient("a").tolist() == [1.0, 1.0]
    assert flow.gradient("b") is None


def test_a_block_without_a_wire_has_nothing_to_pass():
    cut = apply(apply(seed(), Disconnect(PortName("mul", "a"))).after,
                Disconnect(PortName("mul", "b"))).after  # fmt: skip
    session = Session(bypass(cut, "mul"), partial=True)
    (problem,) = [each for each in session.diagnostics if each.code == "nothing-to-pass"]
    assert problem.location.block == "mul"
    one = apply(seed(), Disconnect(PortName("mul", "a"))).after
    assert Session(one, partial=True).diagnostics
    assert not Session(bypass(one, "mul")).diagnostics, "what it ignores is not missed"


def test_a_session_follows_the_switch():
    session = Session(seed())
    session.run()
    session.update(bypass(seed(), "mul"))
    assert session.run().values["mul.out"].tolist() == [1.0, 2.0]
    session.update(bypass(bypass(seed(), "mul"), "mul", on=False))
    assert session.run().values["mul.out"].tolist() == [3.0, 10.0]


def test_a_file_keeps_it():
    diagram = bypass(seed(), "stop")
    text = dumps(diagram)
    assert '"stop": {"type": "StopGradient", "bypassed": true}' in text
    assert loads(text) == diagram
    assert dumps(bypass(diagram, "stop", on=False)) == dumps(seed())


@pytest.mark.night
def test_the_schema_knows_which_blocks_have_it():
    blocks = json_schema()["$defs"]
    assert "bypassed" in blocks["block-Mul"]["properties"]
    for name in ("Variable", "Loss", "Page", "PageInput", "PageOutput"):
        assert "bypassed" not in blocks[f"block-{name}"]["properties"]
        assert not registry().get(name).can_be_bypassed()


@pytest.mark.parametrize("name", ["a", "loss"])
def test_sources_and_losses_can_not_be_bypassed(name):
    with pytest.raises(ChangeError, match="can't be bypassed"):
        bypass(seed(), name)


def test_it_is_true_or_false():
    with pytest.raises(ParameterError, match="true or false"):
        registry().get("Mul")(bypassed="yes")


def test_a_rename_keeps_it():
    renamed = apply(bypass(seed(), "mul"), RenameBlock("mul", "product")).after
    assert renamed.main.blocks["product"].bypassed


def test_formulas_leave_the_block_out():
    diagram = bypass(seed(), "mul")
    names = diagram.main.blocks
    assert "mul" not in formula_of(diagram, "main", names).replace("mul =", "")
    assert "gw.stop_gradient(a, name='stop')" in python_of(diagram, "main", names)


def test_every_block_that_can_be_bypassed_runs_so():
    """With one number at its first input, whatever it would compute."""
    kinds = registry()
    for name, kind in kinds.classes.items():
        if not kind.can_be_bypassed():
            continue
        block = kind(bypassed=True)
        first = block.input_ports()[0]
        port = f"{first.name}.0" if first.variadic else first.name
        page = type(seed().main)(
            {"x": kinds.get("Constant")(value=2.0), "it": block},
            {PortName("it", port): PortName("x", "out")},
        )
        run = Session(Diagram({"main": page})).run()
        for output in block.output_names():
            assert np.array_equal(run.values[f"it.{output}"], 2.0), name
