from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import (
    Diagram,
    Note,
    Page,
    Point,
    PortName,
    SetNote,
    apply,
    check,
    group,
    ungroup,
)
from gradwire.runtime.engine import Session
from tests.runtime.engine.drawing import page
from tests.runtime.engine.test_sharing import chain


def block(kind: str, **parameters):
    return registry().get(kind)(**parameters)


def diagram(blocks, wires) -> Diagram:
    parse = PortName.parse
    layout = {name: Point(240.0 * i, 40.0 * i) for i, name in enumerate(blocks)}
    pairs = {parse(target): parse(source) for target, source in wires.items()}
    return Diagram({"main": Page(blocks, pairs, layout)})


def network() -> Diagram:
    """loss = mean(relu(stack(tanh(a·b), 2·b, a)))."""
    return diagram(
        {
            "a": block("Variable", value=[[1.0, 2.0]]),
            "b": block("Variable", value=[[0.5, -1.0]]),
            "mul": block("Mul"),
            "tanh": block("Tanh"),
            "twice": block("Mul", a=2.0),
            "all": block("Stack"),
            "relu": block("Relu"),
            "mean": block("Mean"),
            "loss": block("Loss"),
        },
        {
            "mul.a": "a.out",
            "mul.b": "b.out",
            "tanh.x": "mul.out",
            "twice.b": "b.out",
            f"all.{terms()}.0": "tanh.out",
            f"all.{terms()}.1": "twice.out",
            f"all.{terms()}.2": "a.out",
            "relu.x": "all.out",
            "mean.x": "relu.out",
            "loss.x": "mean.out",
        },
    )


def terms() -> str:
    return type(block("Stack")).inputs[0].name


def outcome(shown: Diagram) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Gradients by the variable's own name, and the losses' values."""
    assert not [d for d in check(shown) if d.severity == "error"]
    session = Session(shown)
    run = session.backward()
    gradients = {path.rpartition("/")[2]: g for path, g in run.gradients.items()}
    return gradients, [run.values[head] for head in session.losses]


def same(one: Diagram, other: Diagram) -> None:
    (gradients, losses), (others, again) = outcome(one), outcome(other)
    assert gradients.keys() == others.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(others[name], gradient)
    np.testing.assert_allclose(again, losses)


GROUPS = [
    ["mul", "tanh"],
    ["tanh", "twice"],
    ["a"],
    ["a", "b", "mul", "tanh", "twice"],
    ["all", "relu"],
    ["mul", "tanh", "twice", "all", "relu", "mean", "loss"],
    ["a", "b", "mul", "tanh", "twice", "all", "relu", "mean", "loss"],
]


@pytest.mark.parametrize("names", GROUPS)
def test_a_group_computes_what_its_blocks_did(names):
    before = network()
    edit = apply(before, group(before, "main", names))
    assert set(edit.after.pages) == {"main", "group1"}
    assert not set(names) & edit.after.main.blocks.keys()
    same(before, edit.after)
    assert edit.before is before


@pytest.mark.parametrize("names", GROUPS)
def test_ungrouping_gives_the_blocks_back(names):
    before = network()
    grouped = apply(before, group(before, "main", names)).after
    after = apply(grouped, ungroup(grouped, "main", "group1")).after
    assert set(after.pages) == {"main"}
    assert after.main.blocks.keys() == before.main.blocks.keys()
    assert dict(after.main.wires) == dict(before.main.wires)
    same(before, after)


def noted() -> Diagram:
    """The network with a frame around ``mul`` and ``tanh``, a note in it, and others outside."""
    shown = network()
    x, y = shown.main.layout["mul"]
    texts = {
        "f": Note("product", Point(x - 20, y - 40), 460, 240, frame=True),
        "n": Note("bounded", Point(x, y + 150), 100, 40),
        "far": Note("elsewhere", Point(-900, 900)),
        "wide": Note("all", Point(-1000, -1000), 5000, 5000, frame=True),
    }
    return shown.with_page("main", replace(shown.main, notes=texts))


def test_notes_and_frames_of_the_blocks_go_along_and_come_back_where_they_were():
    before = noted()
    grouped = apply(before, group(before, "main", ["mul", "tanh"])).after
    assert grouped.main.notes.keys() == {"far", "wide"}
    assert grouped.pages["group1"].notes == {n: before.main.notes[n] for n in ("f", "n")}
    back = apply(grouped, ungroup(grouped, "main", "group1")).after
    assert dict(back.main.notes) == dict(before.main.notes)
    assert dict(back.main.layout) == dict(before.main.layout)


def test_a_frame_with_other_blocks_in_it_stays():
    before = noted()
    grouped = apply(before, group(before, "main", ["mul"])).after
    assert grouped.main.notes.keys() == before.main.notes.keys()


def test_a_selected_note_goes_along_wherever_it_is():
    before = noted()
    grouped = apply(before, group(before, "main", ["mul"], ["far"])).after
    assert grouped.pages["group1"].notes.keys() == {"far"}


def test_notes_that_come_back_get_names_that_are_free():
    grouped = apply(noted(), group(noted(), "main", ["mul", "tanh"])).after
    grouped = apply(grouped, SetNote("n", Note("new"))).after
    back = apply(grouped, ungroup(grouped, "main", "group1")).after
    assert back.main.notes["n"].text == "new"
    assert back.main.notes["note1"].text == "bounded"


def test_a_source_that_several_read_becomes_one_input():
    before = network()
    edit = apply(before, group(before, "main", ["mul", "twice"]))
    inside = edit.after.pages["group1"].blocks
    kinds = [type(b).type_name() for b in inside.values()]
    assert kinds.count("PageInput") == 2
    assert kinds.count("PageOutput") == 2


def test_wires_may_leave_a_group_and_enter_it_again_where_no_value_runs_in_a_circle():
    before = network()
    edit = apply(before, group(before, "main", ["mul", "all"]))
    same(before, edit.after)
    assert apply(edit.after, ungroup(edit.after, "main", "group1")).after.main.wires


def test_ports_of_a_page_and_nothing_are_refused():
    before = network()
    grouped = apply(before, group(before, "main", ["mul"])).after
    port = next(n for n, b in grouped.pages["group1"].blocks.items() if n != "mul")
    with pytest.raises(ChangeError, match="port of this page"):
        group(grouped, "group1", [port])
    with pytest.raises(ChangeError, match="nothing to group"):
        group(before, "main", [])
    with pytest.raises(ChangeError, match="is not a use of a page"):
        ungroup(before, "main", "mul")


def test_groups_can_be_grouped_and_a_reused_page_stays():
    before = network()
    once = apply(before, group(before, "main", ["mul", "tanh"])).after
    twice = apply(once, group(once, "main", ["group1", "twice"])).after
    same(before, twice)
    back = apply(twice, ungroup(twice, "main", "group2")).after
    assert set(back.pages) == {"main", "group1"}
    same(before, back)


def test_a_literal_of_the_use_becomes_a_constant():
    inner = Page(
        {"x": block("PageInput"), "double": block("Mul", a=2.0), "y": block("PageOutput")},
        {
            PortName("double", "b"): PortName("x", "out"),
            PortName("y", "x"): PortName("double", "out"),
        },
    )
    shown = diagram({"use": block("Page", page="inner", x=4.0), "neg": block("Neg")}, {})
    shown = shown.with_page("inner", inner)
    main = shown.main
    shown = shown.with_page(
        "main", Page(main.blocks, {PortName("neg", "x"): PortName("use", "y")}, main.layout)
    )
    after = apply(shown, ungroup(shown, "main", "use")).after
    assert Session(shown).run().values["neg.out"] == -8.0
    assert Session(after).run().values["neg.out"] == -8.0


def test_pages_used_inside_an_independent_use_keep_their_own_variables():
    shown = chain({"a": PageBlock(page="scale"), "b": PageBlock(page="outer", independent=True)})
    outer = page(
        {"x": PageInput(), "q": PageBlock(page="scale"), "y": PageOutput()},
        {"q.x": "x", "y.x": "q.y"},
    )
    before = shown.with_page("outer", outer)
    after = apply(before, ungroup(before, "main", "b")).after
    assert Session(before).backward().gradients == {"v": 162, "a/w": 54, "b/q/w": 54}
    assert Session(after).backward().gradients == {"v": 162, "a/w": 54, "q/w": 54}
