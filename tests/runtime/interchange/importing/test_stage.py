"""The stage: shapes and constants at once, modules as pages, shared modules as uses of one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import LimitError
from gradwire.runtime.diagram import check, dumps, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import Imported, UnsupportedError
from gradwire.runtime.interchange.importing.scopes import ModuleCall
from gradwire.runtime.interchange.importing.stage import Stage

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def example(shape: tuple[int, ...], start: int = 1) -> np.ndarray:
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + start) / 10


def stage_with_input() -> tuple[Stage, Staged]:
    stage = Stage("model")
    return stage, stage.input("x", example((2, 3)))


def run(imported: Imported) -> Session:
    assert not check(imported.diagram)
    return Session(loads(dumps(imported.diagram)))


def test_shapes_and_constants_are_known_at_once():
    stage, x = stage_with_input()
    y = stage.block("MatMul", x, stage.constant(example((3, 4))))
    assert (y.shape, y.dtype, y.array) == ((2, 4), "float32", None)
    doubled = stage.constant(example((3,))) * 2.0
    np.testing.assert_allclose(doubled.array, [0.2, 0.4, 0.6], rtol=1e-6)


def test_a_constant_that_no_memory_holds_is_not_computed():
    stage = Stage()
    with pytest.raises(LimitError, match="too large a constant"):
        stage.block("Broadcast", stage.constant(example((1,))), shape=(2**30, 2**5))


def test_a_stop_of_constants_stays_a_block():
    stage = Stage()
    stopped = stage.block("StopGradient", stage.constant(example((2,))))
    assert stopped.array is None and stopped.source is not None


def test_a_number_becomes_a_literal_and_an_array_a_constant():
    stage, x = stage_with_input()
    stage.output(x * 2.0 + stage.constant(example((3,))), "y")
    blocks = stage.finish().diagram.main.blocks
    assert blocks["mul1"].literals["b"].to_json() == 2.0
    assert blocks["constant1"].to_record()["dtype"] == "float32"


def test_a_module_is_a_page_and_its_parameters_keep_their_names():
    stage, x = stage_with_input()
    weight = stage.variable("enc.0.w", example((3, 2)), module=("enc", "0"))
    with stage.at(("enc", "0")):
        y = stage.block("Tanh", stage.block("MatMul", x, weight))
    stage.loss(stage.block("Sum", y))
    imported = stage.finish()
    assert imported.parameters == {"enc.0.w": "enc_0/w"}
    assert imported.inputs == {"x": "x"} and imported.outputs == {"loss": "loss.out"}
    assert run(imported).backward().gradients["enc_0/w"].shape == (3, 2)


def test_a_module_of_one_block_is_that_block_with_variables_of_its_own():
    stage, x = stage_with_input()
    weight = stage.variable("net.fc.weight", example((4, 3)), module=("net", "fc"))
    with stage.at(("net", "fc")):
        y = stage.block("Linear", x, weight)
    with stage.at(("net", "act")):
        y = stage.block("Relu", y)
    stage.loss(stage.block("Sum", y))
    imported = stage.finish()
    assert set(imported.diagram.pages["net"].blocks) == {"x", "fc", "act", "out"}
    assert imported.parameters == {"net.fc.weight": "net/fc/weight"}
    assert run(imported).backward().gradients["net/fc/weight"].shape == (4, 3)


def test_a_parameter_may_have_another_name_in_its_module():
    stage, x = stage_with_input()
    weight = stage.drawn("fc_weight", (4, 3), "zeros", ("fc",), "weight", trainable=False)
    with stage.at(("fc",)):
        y = stage.block("Linear", x, weight)
    stage.loss(stage.block("Sum", y))
    imported = stage.finish()
    assert imported.parameters == {"fc_weight": "fc/weight"}
    assert run(imported).backward().values["loss.out"] == 0.0


def test_variables_settle_in_the_module_that_reads_them():
    stage, x = stage_with_input()
    inner, shared = (stage.variable(f"net/{name}/w", example((3, 3))) for name in ("a", "b"))
    for number in (1, 2):
        with stage.at(("net", ModuleCall("a", number))):
            x = stage.block("Tanh", x @ inner)
        x = x @ shared
    stage.settle()
    stage.loss(stage.block("Sum", x))
    imported = stage.finish()
    assert imported.parameters == {"net/a/w": "net/a/w", "net/b/w": "net_b_w"}
    run(imported).backward()


def called_twice(stage: Stage, x: Staged, factors: tuple[float, float]) -> Imported:
    weight = stage.variable("f.w", example((3, 3)), module=("f",))
    total = None
    for number, factor in enumerate(factors, 1):
        with stage.at([ModuleCall("f", number)]):
            y = stage.block("Tanh", stage.block("MatMul", x * factor, weight))
        total = y if total is None else total + stage.block("StopGradient", y)
        x = y
    assert total is not None
    stage.loss(stage.block("Sum", total))
    return stage.finish()


def test_a_module_called_twice_is_one_page_used_twice():
    imported = called_twice(*stage_with_input(), (2.0, 2.0))
    assert set(imported.diagram.pages) == {"main", "f"}
    assert imported.parameters == {"f.w": "f/w"}
    assert {"f", "f_2"} <= set(imported.diagram.main.blocks)
    run(imported).backward()


def test_calls_from_several_places_of_a_program_are_uses_of_one_page():
    stage, x = stage_with_input()
    for number in (1, 2):
        with stage.at([ModuleCall("f", number)], written=f"model.py:{number}"):
            x = stage.block("Tanh", stage.block("Sin", x))
    stage.loss(stage.block("Sum", x))
    imported = stage.finish()
    assert set(imported.diagram.pages) == {"main", "f"}
    assert imported.diagram.pages["f"].blocks["sin1"].written == "model.py:1"


def test_a_layer_of_a_module_called_twice_owns_its_variables():
    stage, x = stage_with_input()
    weight = stage.variable("f.fc.weight", example((3, 3)), module=("f", "fc"))
    for number in (1, 2):
        with stage.at([ModuleCall("f", number), "fc"]):
            y = stage.block("Linear", x, weight)
        with stage.at([ModuleCall("f", number)]):
            x = stage.block("Tanh", y)
    stage.loss(stage.block("Sum", x))
    imported = stage.finish()
    assert set(imported.diagram.pages) == {"main", "f"}
    assert set(imported.diagram.pages["f"].blocks) == {"x", "fc", "tanh1", "out"}
    assert imported.parameters == {"f.fc.weight": "f/fc/weight"}
    first = np.tanh(example((2, 3)) @ example((3, 3)).T)
    wanted = np.sum(np.tanh(first @ example((3, 3)).T))
    run_of_it = run(imported).backward()
    np.testing.assert_allclose(run_of_it.values["loss.out"], wanted, rtol=1e-5)
    assert run_of_it.gradients["f/fc/weight"].shape == (3, 3)


def test_calls_that_differ_are_pages_of_their_own_and_share_the_variable():
    imported = called_twice(*stage_with_input(), (2.0, 3.0))
    assert set(imported.diagram.pages) == {"main", "f", "f_2"}
    assert imported.parameters == {"f.w": "f_w"}
    x, weight = example((2, 3)), example((3, 3))
    first = np.tanh(2 * x @ weight)
    wanted = np.sum(first + np.tanh(3 * first @ weight))
    np.testing.assert_allclose(run(imported).backward().values["loss.out"], wanted, rtol=1e-6)


def test_a_parameter_that_nothing_reads_stays():
    stage, x = stage_with_input()
    stage.variable("unused", example((2,)))
    stage.loss(stage.block("Sum", x))
    imported = stage.finish()
    assert imported.parameters == {"unused": "unused"}
    assert run(imported).backward().gradients["unused"] is None


def test_blocks_remember_where_the_program_has_them():
    stage, x = stage_with_input()
    with stage.at((), "model.py:42\n"):
        stopped = stage.block("StopGradient", x, name="detach")
        stage.remark("cut", "detach stops the gradient.", stopped)
    stage.loss(stage.block("Sum", stopped))
    imported = stage.finish()
    assert imported.diagram.main.blocks["detach"].written == "model.py:42"
    (remark,) = imported.remarks
    assert (remark.block, remark.written) == ("detach", "model.py:42")


def test_numbers_that_must_be_known_are_those_of_the_example():
    stage, x = stage_with_input()
    np.testing.assert_allclose(stage.numbers(x * 2.0, "Reshape"), example((2, 3)) * 2, rtol=1e-6)
    (remark,) = stage.finish().remarks
    assert remark.kind == "specialised" and "Reshape" in remark.text
    unknown = stage.input("y", shape=(2,), dtype="float32")
    with pytest.raises(UnsupportedError, match="known only in a run"):
        stage.numbers(unknown, "Reshape")


def test_a_block_that_is_not_installed_is_refused_with_its_place():
    stage, x = stage_with_input()
    with stage.at((), "net.py:7"), pytest.raises(UnsupportedError, match=r"Bessel.*net\.py:7"):
        stage.block("Bessel", x)


@pytest.mark.parametrize("name", ["a/b.c", 'x="1"', "\x00\x1b", "", " ", "n" * 500])
def test_any_text_makes_a_valid_name(name: str):
    stage = Stage()
    x = stage.input(name, example((2,)))
    with stage.at([name]):
        y = stage.block("Tanh", stage.block("Relu", x, name=name))
    stage.loss(stage.block("Sum", y))
    run(stage.finish()).backward()


def test_a_loop_is_a_scan_over_a_page():
    stage = Stage()
    x = stage.input("x", example((5, 2)))
    weight = stage.variable("cell.w", example((2, 2)), module=("cell",))
    start = stage.constant(np.zeros(2, np.float32))

    def step(inside):
        carried = stage.block("Tanh", inside["x"] @ weight + inside["h"])
        stage.remark("note", "Squashed.", carried)
        return {"h": carried}, {"y": carried * 2.0}

    with stage.at(("cell",)):
        found = stage.scan("rnn", 5, step, {"h": start}, {"x": x})
    assert found["h"].shape == (2,) and found["y"].shape == (5, 2)
    stage.loss(stage.block("Sum", found["y"]) + stage.block("Sum", found["h"]))
    imported = stage.finish()
    state, total = np.zeros(2), 0.0
    for row in example((5, 2)):
        state = np.tanh(row @ example((2, 2)) + state)
        total += 2 * state.sum()
    session = run(imported)
    result = session.backward()
    np.testing.assert_allclose(result.values["loss.out"], total + state.sum(), rtol=1e-5)
    (remark,) = imported.remarks
    assert remark.block in session.program.instances
    assert result.gradients[imported.parameters["cell.w"]].shape == (2, 2)


def test_nothing_is_specialised_to_numbers_that_nobody_gave():
    stage = Stage("model")
    x = stage.input("x", example((2, 3)), stand_in=True)
    with pytest.raises(UnsupportedError, match="known only in a run"):
        stage.numbers(x, "Reshape")
    stage.output(x, "y")
    assert run(stage.finish()).run().values["y.out"].shape == (2, 3)


def test_a_buffer_may_be_owned_under_another_name_and_is_left_out_where_nothing_reads_it():
    stage, x = stage_with_input()
    weight = stage.variable("fc.mask", example((4, 3)), trainable=False, module=("fc",))
    stage.variable("fc.count", np.array(0), trainable=False, module=("fc",))
    with stage.at(("fc",)):
        y = stage.block("Linear", x, weight)
    stage.loss(stage.block("Sum", y))
    imported = stage.finish()
    assert set(imported.diagram.pages) == {"main"}
    assert imported.parameters == {"fc.mask": "fc/weight"}


def test_a_function_that_is_called_twice_is_a_block_each_time():
    stage, x = stage_with_input()
    for number in (1, 2):
        with stage.at([ModuleCall("relu", number)]):
            x = stage.block("Relu", x)
    stage.loss(stage.block("Sum", x))
    imported = stage.finish()
    assert set(imported.diagram.pages) == {"main"}
    assert {"relu", "relu_2"} <= set(imported.diagram.main.blocks)
