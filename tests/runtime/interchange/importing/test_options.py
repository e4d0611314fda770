"""How imports end: what becomes the loss."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.options import ImportOptions, conclude
from gradwire.runtime.interchange.importing.stage import Stage


def staged():
    stage = Stage()
    x = stage.input("x", np.ones((2, 3), np.float32))
    return stage, x, stage.block("Sum", x)


def test_a_single_number_is_the_loss():
    stage, _, total = staged()
    imported = conclude(stage, {"total": total})
    assert imported.diagram.main.blocks["total"].type_name() == "Loss"
    assert not imported.remarks


def test_other_outputs_are_shown_and_a_missing_loss_is_remarked():
    stage, x, total = staged()
    imported = conclude(stage, {"x2": x * 2.0, "total": total})
    kinds = {name: block.type_name() for name, block in imported.diagram.main.blocks.items()}
    assert (kinds["x2"], kinds["total"]) == ("Display", "Display")
    assert [remark.kind for remark in imported.remarks] == ["note"]


def test_the_loss_can_be_chosen():
    stage, x, total = staged()
    imported = conclude(stage, {"x2": x * 2.0, "total": total}, ImportOptions(loss="total"))
    assert imported.diagram.main.blocks["total"].type_name() == "Loss"


@pytest.mark.parametrize(("name", "message"), [("tota", "total"), ("x2", r"shape \[2, 3\]")])
def test_what_can_be_no_loss_is_refused(name: str, message: str):
    stage, x, total = staged()
    with pytest.raises(FileError, match=message):
        conclude(stage, {"x2": x * 2.0, "total": total}, ImportOptions(loss=name))


def test_examples_depend_on_seed_and_input_alone():
    options = ImportOptions(seed=3)
    first = options.example(0, (2, 2), "float32")
    np.testing.assert_array_equal(first, options.example(0, (2, 2), "float32"))
    assert not np.array_equal(first, options.example(1, (2, 2), "float32"))
    assert options.example(0, (2,), "int64").tolist() == [0, 0]
