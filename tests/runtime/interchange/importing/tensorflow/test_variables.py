"""Variables that nodes change: what is read before the change is imported, what after it is not."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.options import ImportOptions
from gradwire.runtime.interchange.importing.tensorflow.importer import import_graph_def
from tests.runtime.interchange.importing.tensorflow.test_hostile import (
    constant,
    field,
    named,
    node,
    number,
    signed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.interchange.importing.imported import Imported

pytest.importorskip("onnx", reason="protobuf comes with it")
FIRST = (
    number("three", 3.0)
    + number("two", 2.0)
    + node("v", "VarHandleOp")
    + node("first", "AssignVariableOp", ["v", "three"])
    + node("before", "ReadVariableOp", ["v", "^first"])
    + node("doubled", "Mul", ["before", "two"])
    + node("end", "Identity", ["doubled"])
)
"""A variable of 3, which is read and doubled."""
BY_REFERENCE = (
    number("three", 3.0)
    + number("two", 2.0)
    + node("v", "VariableV2")
    + node("first", "Assign", ["v", "three"])
    + node("before", "Identity", ["v", "^first"])
    + node("doubled", "Mul", ["before", "two"])
    + node("end", "Identity", ["doubled"])
)
"""The same in a graph of TensorFlow 1."""
HANDLE = field(2, field(1, "v"))


def function(name: str, arguments: bytes, nodes: bytes, *returned: str) -> bytes:
    return field(2, field(1, signed(name, arguments, nodes, *returned)))


CHANGING = function(
    "changing",
    HANDLE,
    number("one", 1.0) + node("c", "AssignAddVariableOp", ["v", "one:output:0"]),
    "one:output:0",
) + function("keeping", HANDLE, number("one", 1.0), "one:output:0")
CHOSEN = named(10, "then_branch", "changing") + named(10, "else_branch", "keeping")
COUNTED = (
    function(
        "step",
        field(2, field(1, "i")) + HANDLE,
        constant("one", (), struct.pack("<i", 1), 3)
        + number("x", 1.0)
        + node("c", "AssignAddVariableOp", ["v", "x:output:0"])
        + node("next", "AddV2", ["i", "one:output:0"]),
        "next:z:0",
        "v",
    )
    + function(
        "goes_on",
        field(2, field(1, "i")) + HANDLE,
        constant("five", (), struct.pack("<i", 5), 3) + node("l", "Less", ["i", "five:output:0"]),
        "l:z:0",
    )
    + constant("zero", (), struct.pack("<i", 0), 3)
)
LOOPING = named(10, "cond", "goes_on") + named(10, "body", "step")
CHANGES = {
    "AssignVariableOp": FIRST + node("c", "AssignVariableOp", ["v", "doubled"]),
    "AssignVariableOp, a constant": FIRST + node("c", "AssignVariableOp", ["v", "two", "^before"]),
    "AssignAddVariableOp": FIRST + node("c", "AssignAddVariableOp", ["v", "doubled"]),
    "AssignSubVariableOp": FIRST + node("c", "AssignSubVariableOp", ["v", "two", "^before"]),
    "ResourceScatterNdAdd": FIRST + node("c", "ResourceScatterNdAdd", ["v", "two", "^before"]),
    "ResourceApplyGradientDescent": FIRST
    + node("c", "ResourceApplyGradientDescent", ["v", "two", "doubled"]),
    "Assign": BY_REFERENCE + node("c", "Assign", ["v", "doubled"]),
    "AssignAdd": BY_REFERENCE + node("c", "AssignAdd", ["v", "two", "^before"]),
    "ScatterUpdate": BY_REFERENCE + node("c", "ScatterUpdate", ["v", "two", "^before"]),
    "ApplyAdam": BY_REFERENCE + node("c", "ApplyAdam", ["v", "two", "two", "^before"]),
    "AssignAddVariableOp, in a branch": FIRST + CHANGING + node("w", "If", ["before", "v"], CHOSEN),
    "AssignAddVariableOp, in a loop": FIRST
    + COUNTED
    + node("w", "While", ["zero", "v", "^before"], LOOPING),
}
"""Graphs in which a node ``c`` changes the variable ``v``."""


def imported(data: bytes, folder: Path) -> Imported:
    path = folder / "graph.pb"
    path.write_bytes(data)
    return import_graph_def(path, ImportOptions(loss="end"))


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_read_after_a_change_is_refused_with_what_changed_it(change: str, tmp_path: Path):
    last = "w" if "in a" in change else "c"
    read = "Identity" if CHANGES[change].startswith(BY_REFERENCE) else "ReadVariableOp"
    data = CHANGES[change] + node("after", read, ["v", f"^{last}"])
    kind = change.partition(",")[0]
    with pytest.raises(UnsupportedError, match=f"^{kind} of the node 'c' .* variable 'v' is read"):
        imported(data + node("tripled", "AddV2", ["after", "two"]), tmp_path)
    with pytest.raises(UnsupportedError, match=f"^{kind} of the node 'c'"):
        imported(data, tmp_path)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_nothing_reads_leaves_the_variable_and_is_said(change: str, tmp_path: Path):
    made = imported(CHANGES[change], tmp_path)
    done = Session(made.diagram).backward()
    assert done.values[made.outputs["end"]] == 6
    assert {k: float(g) for k, g in done.gradients.items() if g is not None} == {"v": 2}
    said = [remark.text for remark in made.remarks if remark.kind == "lost"]
    assert said == ["The variable 'v' isn't updated after a run."]


def test_what_must_be_read_before_a_change_is(tmp_path: Path):
    """The order of the file, and of what needs the nodes, is another one."""
    data = (
        number("three", 3.0)
        + node("v", "VarHandleOp")
        + node("first", "AssignVariableOp", ["v", "three"])
        + node("c", "AssignAddVariableOp", ["v", "three", "^before"])
        + node("before", "ReadVariableOp", ["v", "^first"])
        + node("end", "Mul", ["before", "before"])
    )
    made = imported(data, tmp_path)
    assert Session(made.diagram).run().values[made.outputs["end"]] == 9
