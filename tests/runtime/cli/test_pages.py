"""Diagrams of several pages: names are paths."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def paged(diagram):
    """sum(x * W), the product on a page of its own that is used as ``enc``."""
    return diagram(
        {
            "x": {"type": "Variable", "value": [1, 2]},
            "enc": {"type": "Page", "page": "scale"},
            "sum": {"type": "Sum"},
        },
        {"enc.x": "x.out", "sum.x": "enc.y"},
        scale=(
            {
                "x": {"type": "PageInput"},
                "W": {"type": "Variable", "value": [3, 4]},
                "mul": {"type": "Mul"},
                "y": {"type": "PageOutput"},
            },
            {"mul.a": "x.out", "mul.b": "W.out", "y.x": "mul.out"},
        ),
    )


def test_variables_ports_and_wires_inside_a_page(gradwire, paged):
    report = gradwire("run", paged, "--set", "enc/W=[5, 6]", "--json").json
    assert report["gradients"]["enc/W"]["value"] == [1.0, 2.0]
    assert report["values"]["enc/mul.out"]["value"] == [5.0, 12.0]
    assert report["wires"]["enc.x"]["gradient"]["value"] == [5.0, 6.0]
    assert report["wires"]["enc/mul.b"]["source"] == "enc/W.out"


def test_an_output_of_a_page_names_the_wires_that_leave_it(gradwire, paged):
    wires = gradwire("flow", paged, "--wire", "enc.y", "--wire", "enc.x", "--json").json["wires"]
    assert list(wires) == ["sum.x", "enc.x"]


def test_a_head_on_a_page(gradwire, paged):
    done = gradwire("run", paged, "--loss", "enc.y")
    assert done.code == 3 and "enc/y" in done.err


def test_a_name_on_a_page_needs_its_path(gradwire, paged):
    done = gradwire("run", paged, "--set", "W=1")
    assert done.code == 2 and "enc/W" in done.err


def test_an_older_file_tells_which_uses_keep_variables_of_their_own(gradwire, paged):
    data = json.loads(paged.read_text(encoding="utf-8"))
    main = data["pages"]["main"]
    main["blocks"]["again"] = {"type": "Page", "page": "scale"}
    main["wires"] |= {"again.x": "enc.y", "sum.x": "again.y"}
    paged.write_text(json.dumps(data | {"gradwire": 1}), encoding="utf-8")
    done = gradwire("run", paged, "--json")
    assert "now independent: enc on page main, again on page main." in done.err
    assert {"enc/W", "again/W"} <= done.json["gradients"].keys()
    paged.write_text(json.dumps(data), encoding="utf-8")
    done = gradwire("run", paged, "--json")
    assert done.err == "" and "again/W" not in done.json["gradients"]
