"""Trees on wires: blocks work leaf by leaf, every leaf is a port and a wire of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import HeadError, NotRunnableError, RunError
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.containers import Pack, Unpack
from gradwire.blocks.library.functions import Square
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.library.views import Display
from gradwire.runtime.build import Expression, block, build, loss, variable
from gradwire.runtime.diagram import check, dumps, loads
from gradwire.runtime.diagram.edits.applying import require_ports
from gradwire.runtime.diagram.model import MAIN
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.engine import Session
from gradwire.runtime.training.optimisers import SGD
from tests.blocks.examples import EXAMPLES, Example
from tests.blocks.single import Single
from tests.runtime.engine.drawing import draw, page


def var(name: str, value: Any) -> Expression:
    return variable(name, value, dtype="float64")


def pair(first: str = "a", second: str = "b", **parameters: Any) -> Expression:
    """{x: [1, 2], deep: {y: 3}} of two variables."""
    items = var(first, [1.0, 2.0]), var(second, 3.0)
    return block("Pack", *items, keys=["x", "deep/y"], **parameters)


def lists(tree: Any) -> Any:
    """Arrays as lists."""
    if isinstance(tree, dict):
        return {key: lists(item) for key, item in tree.items()}
    return tree.tolist() if isinstance(tree, np.ndarray) else tree


BY_LEAF = [e for e in EXAMPLES if e.block.trees == "by leaf" and not e.block.head]


def in_trees(example: Example, arrays: dict[str, dict[str, Any]]) -> Session:
    """The example's block as ``it``, at each input a tree of those arrays and a passive leaf.

    The leaf ``full`` of input ``a`` is the block ``a full``.
    """
    inputs = {}
    for port in example.inputs:
        leaves = {
            leaf: block(
                "Variable" if array.dtype.kind == "f" else "Constant",
                name=f"{port.replace('.', '_')} {leaf}",
                value=array,
                dtype=array.dtype.name,
            )
            for leaf, array in ((leaf, by_port[port]) for leaf, by_port in arrays.items())
        }
        inputs[port] = block("Pack", *leaves.values(), keys=list(leaves), extras={"note": "x"})
    record = example.block.to_record()
    return Session(build(block(example.block.type_name(), name="it", **inputs, **record)))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("example", BY_LEAF, ids=str)
def test_a_block_on_trees_is_the_block_on_each_leaf(example: Example) -> None:
    full = Single(example.block, **example.inputs).inputs
    half = {port: x if x.dtype.kind in "bi" else x / 2 for port, x in full.items()}
    session = in_trees(example, {"full": full, "half": half})
    run = session.run()
    assert run.tree("it.out")["note"] == "x"
    for leaf, other, arrays in (("full", "half", full), ("half", "full", half)):
        alone, port = Single(example.block, **arrays), f"it.out:{leaf}"
        np.testing.assert_array_equal(run.values[port], alone.value())
        if not alone.traced[1].startswith("float"):
            continue
        seed = {port: np.ones(alone.traced[0])}
        gradients = session.backward([port], out_gradients=seed).gradients
        for name, expected in alone.gradients().items():
            place = name.replace(".", "_")
            np.testing.assert_array_equal(gradients.get(f"{place} {leaf}"), expected)
            assert gradients.get(f"{place} {other}") is None


def test_what_is_no_tree_goes_with_every_leaf() -> None:
    out = (3.0 * pair() + var("c", 1.0)).named("it")
    session = Session(build(out))
    assert lists(session.run().tree("it.out")) == {"x": [4.0, 7.0], "deep": {"y": 10.0}}
    run = session.backward(["it"], out_gradients={"it.out:x": [1.0, 1.0], "it.out:deep/y": 1.0})
    assert {n: g.tolist() for n, g in run.gradients.items()} == {
        "a": [3.0, 3.0], "b": 3.0, "c": 3.0
    }  # fmt: skip


def test_trees_of_other_structures_are_refused_with_the_paths() -> None:
    other = block("Pack", var("c", [1.0, 2.0]), keys="z")
    with pytest.raises(NotRunnableError) as caught:
        Session(build(block("Add", pair(), other, name="add"))).run()
    message = str(caught.value)
    assert message.startswith("add.b: The trees at a and b differ")
    assert "the first has no z" in message
    assert "the second has no x, deep, deep/y" in message


def test_an_error_at_a_leaf_names_it() -> None:
    other = block("Pack", var("c", [1.0, 2.0, 3.0]), var("d", 1.0), keys="x, deep/y")
    with pytest.raises(NotRunnableError, match=r"add: .*This is at the leaf x\."):
        Session(build(block("Add", pair(), other, name="add"))).run()


def test_passive_leaves_pass_and_must_agree() -> None:
    named = pair(extras={"n": "one"})
    out = (named + pair("c", "d", extras={"n": "one"})).named("it")
    assert Session(build(out)).run().tree("it.out")["n"] == "one"
    wrong = block("Add", named, pair("c", "d", extras={"n": "two"}), name="add")
    with pytest.raises(NotRunnableError, match="n is 'one' in the first and 'two' in the second"):
        Session(build(wrong)).run()


def test_every_leaf_is_a_port_and_every_wire_has_one_for_each() -> None:
    session = Session(build(block("Square", pair().named("pack"), name="sq")))
    program = session.program
    assert program.leaf_ports("sq.out") == ("sq.out:x", "sq.out:deep/y")
    assert program.leaf_wires("sq.x") == ("sq.x:x", "sq.x:deep/y")
    assert program.wire_sources["sq.x"] == "pack.out"
    assert program.wire_sources["sq.x:deep/y"] == "pack.out:deep/y"
    assert program.ports["sq.out:x"].shape == (2,)
    assert set(session.run(ports=["sq"]).values) == {"sq.out:x", "sq.out:deep/y"}
    assert session.infer_shapes().ports["sq.out:x"] == (2,)
    with pytest.raises(RunError, match=r"no block or output 'sq\.out:z'"):
        session.run(ports=["sq.out:z"])


def test_contributions_and_adjoints_are_leaf_by_leaf_and_the_wire_has_one_norm() -> None:
    sq = block("Square", pair().named("pack"), name="sq")
    x, y = block("Unpack", sq, paths="x, deep/y", name="parts")
    run = Session(build(loss(block("Sum", x) + 2.0 * y))).backward(adjoints=["sq"])
    assert run.contributions["sq.x:x"].tolist() == [2.0, 4.0]
    assert run.contributions["sq.x:deep/y"] == 12.0
    assert "sq.x" not in run.contributions
    assert run.norms["sq.x"] == pytest.approx(np.sqrt((4 + 16 + 144) / 3))
    assert lists(dict(run.adjoints)) == {"sq.out:x": [1.0, 1.0], "sq.out:deep/y": 2.0}


def test_what_arrives_at_a_stop_is_told_for_the_stopped_leaves_only() -> None:
    stop = block("StopGradient", pair(), only="x", name="stop")
    x, y = block("Unpack", stop, paths="x, deep/y")
    run = Session(build(loss(block("Sum", x) + 2.0 * y))).backward(adjoints="stops")
    assert lists(dict(run.adjoints)) == {"stop.out:x": [1.0, 1.0]}
    assert run.norms["stop.x"] == 2.0
    assert run.gradients["a"] is None


def test_a_loss_block_marks_each_leaf() -> None:
    session = Session(build(loss(block("Square", pair()), name="loss")))
    assert session.losses == ["loss.out:x", "loss.out:deep/y"]
    assert lists(dict(session.backward().gradients)) == {"a": [2.0, 4.0], "b": 6.0}
    assert lists(dict(session.backward(["loss.out:x"]).gradients)) == {"a": [2.0, 4.0], "b": None}


def test_unread_leaves_are_no_losses() -> None:
    with pytest.raises(HeadError, match="no loss"):
        Session(build(block("Pack", var("a", 1.0), keys="a"))).backward()


def test_a_tree_as_head_needs_an_output_gradient_for_each_array() -> None:
    session = Session(build(block("Square", pair(), name="sq")))
    with pytest.raises(HeadError, match=r"sq\.out:x: Backward needs a number"):
        session.backward(["sq"])


def test_gradients_may_be_asked_for_of_a_tree() -> None:
    parts = block("Unpack", (2.0 * pair().named("pack")).named("mul"), paths="x, deep/y")
    x, y = parts
    session = Session(build(loss(block("Sum", x) + y)))
    run = session.backward(wrt=["pack", "mul.out"])
    assert lists(dict(run.gradients)) == {
        "pack.out:x": [2.0, 2.0], "pack.out:deep/y": 2.0,
        "mul.out:x": [1.0, 1.0], "mul.out:deep/y": 1.0,
    }  # fmt: skip
    again = session.backward(request={"pack": "add"})
    assert again.gradients["pack.out:x"].tolist() == [4.0, 4.0]


def test_a_step_moves_the_leaves_that_are_not_stopped() -> None:
    x, y = block("Unpack", block("StopGradient", pair(), only="x"), paths="x, deep/y")
    session = Session(build(loss(block("Sum", x) + y)))
    session.step(SGD(lr=1.0))
    assert lists(dict(session.values)) == {"a": [1.0, 2.0], "b": 2.0}


def test_a_prepared_call_gives_leaves() -> None:
    call = Session(build(block("Square", pair(), name="sq"))).prepare(values=["sq"], wrt=())
    assert call.results == ("sq.out:x", "sq.out:deep/y")
    assert [array.tolist() for array in call()] == [[1.0, 4.0], 9.0]


SCALE = page(
    {"t": PageInput(), "mul": Mul(b=2), "show": Display(), "y": PageOutput()},
    {"mul.a": "t", "show.x": "mul", "y.x": "show"},
)


def test_trees_go_through_pages() -> None:
    diagram = draw(
        {
            "a": Variable(value=1.0), "b": Variable(value=2.0), "pack": Pack(keys=("x", "y")),
            "use": PageBlock(page="scale"), "un": Unpack(paths=("x", "y")), "add": Add(),
            "loss": Square(),
        },
        {
            "pack.items.0": "a", "pack.items.1": "b", "use.t": "pack", "un.x": "use.y",
            "add.a": "un.x", "add.b": "un.y", "loss.x": "add",
        },
        scale=SCALE,
    )  # fmt: skip
    assert check(diagram) == []
    assert loads(dumps(diagram)) == diagram
    session = Session(diagram)
    run = session.backward()
    assert run.values["loss.out"] == 36
    assert lists(dict(run.gradients)) == {"a": 24.0, "b": 24.0}
    assert {"use.t:x", "use/mul.a:y", "use/y.x:x", "un.x:y"} <= set(run.contributions)
    assert session.run(ports=["use.y"]).values == {"use/y.out:x": 2, "use/y.out:y": 4}
    assert session.run(ports=["use.y:x"]).values == {"use/y.out:x": 2}


def test_wires_to_parts_are_checked_and_connected_by_path() -> None:
    diagram = draw(
        {"a": Variable(value=1.0), "pack": Pack(keys=("x/y",)), "un": Unpack(paths=("x/y",)),
         "sum": Sum()},
        {"pack.items.0": "a", "un.x": "pack", "sum.x": "un.x/y"},
    )  # fmt: skip
    assert check(diagram) == []
    require_ports(diagram, MAIN, PortName("un", "x/y"), PortName("sum", "x"))
    wrong = draw(diagram.main.blocks, {"pack.items.0": "a", "un.x": "pack", "sum.x": "un.x/z"})
    (told,) = check(wrong)
    assert (told.code, told.expected) == ("unknown-port", "one of x/y")


def test_open_shapes_are_inferred_beside_trees() -> None:
    """W's shape follows from the product it goes into, although a tree comes along."""
    diagram = draw(
        {
            "a": Variable(value=[1.0, 2.0]), "W": Variable(initialiser="ones"), "add": Add(),
            "pack": Pack(keys=("x",)), "scaled": Mul(b=2.0), "un": Unpack(paths=("x",)),
            "V": Variable(initialiser="ones"), "mul": Mul(), "loss": Sum(),
        },
        {
            "add.a": "a", "add.b": "W", "pack.items.0": "add", "scaled.a": "pack",
            "un.x": "scaled", "mul.a": "un.x", "mul.b": "V", "loss.x": "mul",
        },
    )  # fmt: skip
    session = Session(diagram)
    assert session.diagnostics == []
    assert session.infer_shapes().arguments == {"a": (2,), "W": (2,), "V": (2,)}
    assert session.run().values["loss.out"] == 10


def test_a_partial_session_leaves_out_what_is_behind_a_refused_tree() -> None:
    diagram = draw(
        {"a": Variable(value=1.0), "pack": Pack(keys=("x",)), "sum": Sum(), "sq": Square()},
        {"pack.items.0": "a", "sum.x": "pack", "sq.x": "pack"},
    )
    session = Session(diagram, partial=True)
    assert set(session.run().values) == {"a.out", "pack.out:x", "sq.out:x"}
    (told,) = session.diagnostics
    assert (told.location.block, told.location.port) == ("sum", "x")


def test_results_alias_nothing() -> None:
    session = Session(build(block("StopGradient", pair(), name="stop")))
    for _ in range(2):
        run = session.run()
        assert run.values["stop.out:x"].tolist() == [1.0, 2.0]
        for array in run.values.values():
            array[...] = 99.0


def test_an_empty_tree_runs() -> None:
    stop = StopGradient(only=("nothing",), prune=True)
    diagram = draw(
        {"a": Variable(value=1.0), "pack": Pack(keys=("x",)), "stop": stop, "sq": Square()},
        {"pack.items.0": "a", "stop.x": "pack", "sq.x": "stop"},
    )
    run = Session(diagram).run()
    assert run.tree("sq.out") == {}
    assert run.tree("a.out") == 1.0
