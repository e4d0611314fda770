"""Folding: pages that a person can read, whatever the model has inside one another, or has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.runtime.diagram import check
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.folding import MANY
from gradwire.runtime.interchange.importing.scopes import ModuleCall
from tests.runtime.interchange.importing.test_stage import example, stage_with_input

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def finished(stage: Stage, y: Staged) -> Imported:
    """The diagram with the sum of a value as its loss, which runs."""
    stage.loss(stage.block("Sum", y))
    imported = stage.finish()
    assert not check(imported.diagram)
    Session(imported.diagram).backward()
    return imported


def blocks(imported: Imported, page: str = "main") -> list[str]:
    """The names of blocks on a page, without its ports."""
    shown = imported.diagram.pages[page].blocks.items()
    return [name for name, block in shown if not isinstance(block, PageInput | PageOutput)]


def layer(stage: Stage, x: Staged, *path: str | ModuleCall) -> Staged:
    """A module with a weight and two blocks."""
    names = [part if isinstance(part, str) else part.name for part in path]
    weight = stage.variable(".".join([*names, "w"]), example((3, 3)), module=names)
    with stage.at(path):
        return stage.block("Tanh", x @ weight)


def test_modules_that_hold_one_another_are_one_page_with_their_whole_name():
    stage, x = stage_with_input()
    imported = finished(stage, layer(stage, x, "encoder", "layer", "0"))
    assert set(imported.diagram.pages) == {"main", "encoder_layer_0"}
    assert imported.parameters == {"encoder.layer.0.w": "encoder_layer_0/w"}


def test_a_list_of_modules_is_one_page_with_the_module_around_it():
    stage, x = stage_with_input()
    for i in range(3):
        x = layer(stage, x, "encoder", "layer", str(i))
    imported = finished(stage, x)
    assert blocks(imported, "encoder_layer") == ["0", "1", "2"]
    assert imported.parameters["encoder.layer.2.w"] == "encoder_layer/2/w"


def test_a_block_that_is_alone_in_modules_stands_for_all_of_them():
    stage, x = stage_with_input()
    weight = stage.variable("fc.0.weight", example((4, 3)), module=("fc", "0"))
    with stage.at(("fc", "0")):
        y = stage.block("Linear", x, weight)
    imported = finished(stage, y)
    assert set(imported.diagram.pages) == {"main"} and "fc_0" in blocks(imported)
    assert imported.parameters == {"fc.0.weight": "fc_0/weight"}


def test_merged_modules_that_are_called_again_are_uses_of_one_page():
    stage, x = stage_with_input()
    weight = stage.variable("a.b.w", example((3, 3)), module=("a", "b"))
    for number in (1, 2):
        with stage.at((ModuleCall("a", number), "b")):
            x = stage.block("Tanh", x @ weight)
    imported = finished(stage, x)
    assert set(imported.diagram.pages) == {"main", "a_b"}
    assert {"a_b", "a_b_2"} <= set(blocks(imported))
    assert imported.parameters == {"a.b.w": "a_b/w"}


def test_a_module_that_is_one_loop_is_that_loop():
    stage, x = stage_with_input()
    start = stage.constant(np.zeros(3, np.float32))
    with stage.at(("rnn",)):
        last = stage.scan(
            "scan", 2, lambda has: ({"h": has["h"] + has["x"]}, {}), {"h": start}, {"x": x}
        )["h"]
    imported = finished(stage, last)
    assert set(imported.diagram.pages) == {"main", "rnn"}
    assert imported.diagram.main.blocks["rnn"].type_name() == "Scan"


def test_a_parameter_read_elsewhere_keeps_its_whole_name():
    stage, x = stage_with_input()
    weight = stage.variable("gpt.wte.weight", example((3, 3)), module=("gpt", "wte"))
    with stage.at(("gpt", "wte")):
        y = stage.block("Tanh", x @ weight)
    with stage.at(("gpt",)):
        y = y * 2.0 + x @ weight
    inside = finished(stage, y)
    assert inside.parameters == {"gpt.wte.weight": "gpt/wte_weight"}
    stage, x = stage_with_input()
    weight = stage.variable("gpt.wte.weight", example((3, 3)), module=("gpt", "wte"))
    with stage.at(("gpt", "wte")):
        y = stage.block("Tanh", x @ weight)
    outside = finished(stage, stage.block("Linear", y, weight))
    assert outside.parameters == {"gpt.wte.weight": "gpt_wte_weight"}


def test_a_layer_called_twice_whose_weight_is_read_elsewhere_is_a_block_each_time():
    stage, x = stage_with_input()
    weight = stage.variable("fc.weight", example((3, 3)), module=("fc",))
    for number in (1, 2):
        with stage.at([ModuleCall("fc", number)]):
            x = stage.block("Linear", x, weight)
    imported = finished(stage, x @ weight)
    assert set(imported.diagram.pages) == {"main"}
    assert {"fc", "fc_2", "fc_weight"} <= set(blocks(imported))


def shifted(stage: Stage, x: Staged) -> Staged:
    """Labels of which those above 0 count, twice."""
    labels = stage.input("labels", np.array([[0, 1, 2], [1, 0, 1]]))
    mask = stage.cast(labels > 0, "float32")
    return x * mask * 2.0


def test_what_prepares_labels_is_a_page_beside_modules():
    stage, x = stage_with_input()
    imported = finished(stage, shifted(stage, layer(stage, x, "net")))
    assert blocks(imported, "prepare_labels") == ["greater1", "cast1"]
    assert "mul1" in blocks(imported)


def test_an_operation_is_left_whole_beside_modules():
    stage, x = stage_with_input()
    y = layer(stage, x, "net")
    with stage.operation("masked"):
        y = shifted(stage, y)
    assert set(finished(stage, y).diagram.pages) == {"main", "net"}


def test_a_program_without_modules_stays_as_it_is():
    stage, x = stage_with_input()
    imported = finished(stage, shifted(stage, x))
    assert set(imported.diagram.pages) == {"main"}


@pytest.mark.parametrize("extra", [0, MANY])
def test_operations_of_several_blocks_are_pages_where_a_page_has_too_many(extra: int):
    stage, x = stage_with_input()
    with stage.operation("swish"):
        y = x * stage.block("Sigmoid", x * 0.5) * 2.0
    for _ in range(extra):
        y = stage.block("Tanh", y)
    imported = finished(stage, y)
    assert set(imported.diagram.pages) == {"main", "swish"} if extra else {"main"}


def test_an_operation_of_many_blocks_is_one_page():
    stage, x = stage_with_input()
    with stage.operation("series"):
        for _ in range(2 * MANY):
            x = stage.block("Tanh", x)
    imported = finished(stage, stage.block("Cos", x))
    assert set(imported.diagram.pages) == {"main", "series"}


def test_many_outputs_are_a_page():
    stage, x = stage_with_input()
    for i in range(2 * MANY):
        stage.output(stage.block("Sin", x), f"y{i}")
    imported = finished(stage, x)
    assert len(blocks(imported, "outputs")) == 2 * MANY
    assert imported.outputs["y3"] == "outputs/y3.out"


def test_blocks_whose_names_begin_alike_are_pages_where_a_page_has_too_many():
    stage, x = stage_with_input()
    for unit in range(1, 4):
        before = x
        for step in ("conv1", "act1", "conv2", "act2"):
            x = stage.block("Tanh", x, name=f"stage1_unit{unit}_{step}")
            x = stage.block("Sin", x)  # belongs to none by its name
        x = stage.block("Add", x, before, name=f"stage1_unit{unit}_plus")
    imported = finished(stage, stage.block("Cos", x))
    assert set(imported.diagram.pages) >= {"main", "stage1", "stage1-unit2"}
    assert blocks(imported) == ["x", "stage1", "cos1", "sum1", "loss"]
    assert blocks(imported, "stage1") == ["unit1", "unit2", "unit3"]
    assert blocks(imported, "stage1-unit1")[0] == "stage1_unit1_conv1"


def test_names_that_are_no_more_than_numbered_make_no_pages():
    stage, x = stage_with_input()
    for i in range(2 * MANY):
        x = stage.block("Tanh", x, name=f"dense_{i}")
    assert set(finished(stage, x).diagram.pages) == {"main"}


def test_names_that_begin_alike_make_no_page_around_something_else():
    stage, x = stage_with_input()
    for i in range(MANY):
        x = stage.block("Tanh", x, name=f"conv_{i}a")
        x = stage.block("Sin", x, name=f"act_{i}a")
    assert set(finished(stage, x).diagram.pages) == {"main"}


def test_flat_blocks_stand_in_the_modules_of_their_parameters():
    stage, x = stage_with_input()
    for i in range(MANY):
        name = f"layers.{i // 2}.fc{i % 2}"
        weight = stage.variable(f"{name}.weight", example((3, 3)), module=name.split("."))
        x = stage.block("Relu", stage.block("Linear", x, weight))
    imported = finished(stage, x)
    assert len(blocks(imported)) <= MANY
    assert blocks(imported, "layers-3") == ["fc0", "relu1", "fc1"]
    assert imported.parameters["layers.3.fc1.weight"] == "layers/3/fc1/weight"
