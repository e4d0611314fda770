"""The ports that a block has on the canvas."""

from __future__ import annotations

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.runtime.diagram.layout.measures import ROW
from tests.app.canvas.pages import block, diagram


def test_outputs_that_parameters_name_are_there_before_wires_are():
    parts = block("Unpack", paths=("a", "b", "c"))
    for wires in ({}, {"t.x": "parts.b"}):
        scene = Scene(diagram({"parts": parts, "t": block("Tanh")}, wires), "main")
        assert scene.slots[0].outputs == ("a", "b", "c")
        heights = [scene.port_points()[scene.port("parts", name), 1] for name in "abc"]
        assert [after - heights[0] for after in heights] == [0.0, ROW, 2 * ROW]


def test_a_new_path_is_a_new_port():
    def outputs(*paths):
        shown = diagram({"parts": block("Unpack", paths=paths), "t": block("Tanh")})
        return Scene(shown, "main").slots[0].outputs

    assert outputs("a") == ("a",)
    assert outputs("b", "a") == ("b", "a")
