"""The session: values, gradients, requests, feeds, errors, determinism."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.blocks.errors import FeedError, HeadError, Location, NotRunnableError, RunError
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.functions import Square
from gradwire.blocks.library.gradient import Gradient, StopGradient
from gradwire.blocks.library.linear import Linear, MatMul
from gradwire.blocks.library.losses import Loss, MeanSquaredError
from gradwire.blocks.library.parts import Gather
from gradwire.blocks.library.random import RandomNormal
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.shape import Broadcast
from gradwire.blocks.library.sources import Constant, Input, Variable
from gradwire.blocks.library.views import Display
from gradwire.blocks.values import PortLiteral
from gradwire.runtime.build import variable
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan import memory
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.session import execution
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.drawing import draw, seed

Array = NDArray[Any]


def product() -> Session:
    """loss(a·b), as in MXNet's executor logs."""
    return Session(
        draw(
            {
                "a": Variable(value=[1, 2]),
                "b": Variable(value=[3, 4]),
                "mul": Mul(),
                "loss": Loss(),
            },
            {"mul.a": "a", "mul.b": "b", "loss.x": "mul"},
        )
    )


def test_the_seed_has_mxnets_numbers_and_none_where_mxnet_writes_zero() -> None:
    session = Session(seed())
    run = session.backward(adjoints="stops")
    assert session.arguments() == ["b", "a"]
    assert run.values["loss.out"].tolist() == [[1, 5]]
    assert run.gradients["a"] is not None and run.gradients["a"].tolist() == [[1, 1]]
    assert run.gradients["b"] is None
    assert run.adjoints["stop.out"] is not None and run.adjoints["stop.out"].tolist() == [[1, 1]]
    assert {wire: norm is not None for wire, norm in run.norms.items()} == {
        "triple.b": False,
        "stop.x": False,
        "plus.a": False,
        "plus.b": True,
        "loss.x": True,
    }
    zero = session.backward(unconnected="zero").gradients["b"]
    assert zero is not None and zero.tolist() == [[0, 0]] and zero.dtype == np.float32


def test_write_replaces_add_adds_null_computes_nothing() -> None:
    session = product()
    for expected in ([3, 4], [6, 8]):
        run = session.backward(request="add")
        assert run.gradients["a"] is not None and run.gradients["a"].tolist() == expected
    assert session.backward().gradients["a"].tolist() == [3, 4]
    assert session.backward(request="null").gradients == {"a": None, "b": None}


def test_a_variable_that_a_mapping_of_requests_does_not_name_is_null() -> None:
    run = product().backward(request={"a": "write"})
    assert run.gradients["b"] is None
    assert run.gradients["a"] is not None


def test_requests_in_argument_order() -> None:
    session = product()
    for a, b in (([3, 4], [1, 2]), ([6, 8], [1, 2])):
        run = session.backward(request=["add", "write"])
        assert run.gradients["a"].tolist() == a
        assert run.gradients["b"].tolist() == b
    with pytest.raises(RunError, match="Every argument needs one gradient request"):
        session.backward(request=["add"])
    with pytest.raises(RunError, match="Expected write, add or null, got 'sum'"):
        session.backward(request={"a": "sum"})


def test_gradients_held_before_are_added_to_also_where_nothing_arrives() -> None:
    session = Session(seed())
    session.gradients = {"a": np.full((1, 2), 7.0), "b": np.full((1, 2), 7.0)}
    run = session.backward(request="add")
    assert run.gradients["a"].tolist() == [[8, 8]]
    assert run.gradients["b"].tolist() == [[7, 7]]
    assert session.backward(unconnected="zero").gradients["b"].tolist() == [[0, 0]]


def test_several_heads_with_output_gradients_add_up() -> None:
    session = Session(
        draw(
            {
                "a": Variable(value=[1, 2]),
                "b": Variable(value=[3, 4]),
                "square": Square(),
                "s1": Sum(),
                "mul": Mul(),
                "s2": Sum(),
            },
            {"square.x": "a", "s1.x": "square", "mul.a": "a", "mul.b": "b", "s2.x": "mul"},
        )
    )
    run = session.backward(["s1", "s2"], out_gradients={"s1": 1, "s2.out": 100})
    assert run.gradients["a"].tolist() == [302, 404]
    assert run.gradients["b"].tolist() == [100, 200]
    assert run.losses == ("s1.out", "s2.out")


def test_a_head_that_is_no_number_and_no_loss_needs_an_output_gradient() -> None:
    session = product()
    with pytest.raises(HeadError, match=r"mul.out: .* shape \[2\]\. Expected a scalar, a Loss"):
        session.backward(["mul"])
    run = session.backward(["mul"], out_gradients={"mul": [10, 100]})
    assert run.gradients["b"].tolist() == [10, 200]
    with pytest.raises(HeadError, match=r"Expected \[2\], got \[3\]"):
        session.backward(["mul"], out_gradients={"mul": [1, 2, 3]})
    with pytest.raises(HeadError, match="is not a head of this run"):
        session.backward(["loss"], out_gradients={"mul": [1, 2]})


def test_a_head_of_integers_is_refused() -> None:
    session = Session(draw({"n": Constant(value=3), "show": Display()}, {"show.x": "n"}))
    with pytest.raises(HeadError, match="can't start at values of int64"):
        session.backward(["show"])


def test_a_diagram_without_a_loss_says_so() -> None:
    session = Session(draw({"a": Variable(value=[1, 2])}, {}))
    with pytest.raises(HeadError, match=r"no Loss block.*Add a Loss block"):
        session.backward()


def test_without_a_loss_block_the_unread_numbers_are_losses() -> None:
    session = Session(
        draw(
            {"x": Variable(value=[1, 2]), "sum": Sum(), "show": Display()},
            {"sum.x": "x", "show.x": "sum"},
        )
    )
    assert session.losses == ["sum.out"]


def test_gradients_of_ports_frozen_variables_and_constants_on_request() -> None:
    session = Session(
        draw(
            {
                "w": Variable(value=2.0, trainable=False),
                "c": Constant(value=5.0),
                "mul": Mul(),
                "loss": Loss(),
            },
            {"mul.a": "w", "mul.b": "c", "loss.x": "mul"},
        )
    )
    assert session.backward().gradients == {}
    run = session.backward(wrt=["w", "c", "mul.out"])
    assert {k: float(v) for k, v in run.gradients.items() if v is not None} == {
        "w": 5,
        "c": 2,
        "mul.out": 1,
    }


def test_contributions_add_up_to_the_gradient_of_their_source() -> None:
    session = Session(
        draw(
            {"w": Variable(value=2.0), "sq": Square(), "tri": Mul(b=3), "sum": Add()},
            {"sq.x": "w", "tri.a": "w", "sum.a": "sq", "sum.b": "tri"},
        )
    )
    run = session.backward()
    assert run.contributions["sq.x"] == 4
    assert run.contributions["tri.a"] == 3
    assert run.gradients["w"] == 7


def test_feeds_last_one_run_and_set_values_stay() -> None:
    session = Session(
        draw({"x": Input(shape=[None]), "sum": Sum(), "w": Variable(value=1.0), "mul": Mul()},
             {"sum.x": "x", "mul.a": "sum", "mul.b": "w"})
    )  # fmt: skip
    assert session.run({"x": [1, 2, 3]}).values["sum.out"] == 6
    assert session.run({"x": [1, 2]}).values["sum.out"] == 3
    with pytest.raises(NotRunnableError, match="nothing in the diagram determines it"):
        session.run()
    session.set("x", [4])
    assert session.run().values["sum.out"] == 4
    assert session.run({"x": [5, 5]}).values["sum.out"] == 10
    assert session.run().values["sum.out"] == 4


def test_wrong_feeds_are_told_with_what_was_expected() -> None:
    session = Session(draw({"x": Input(shape=[2]), "n": Input(shape=[], dtype="int64")}, {}))
    with pytest.raises(FeedError, match=r"x: .* Expected \[2\], got \[3\]"):
        session.run({"x": [1, 2, 3]})
    with pytest.raises(FeedError, match=r"1\.5 is not representable as int64"):
        session.run({"n": 1.5})
    with pytest.raises(FeedError, match=r"no variable, constant or input 'y'.*Did you mean|one of"):
        session.run({"y": 1})
    with pytest.raises(FeedError, match="was not fed"):
        session.run({"n": 1})


def test_results_never_alias_inputs_or_each_other() -> None:
    fed = np.array([1.0, 2.0], dtype=np.float32)
    session = Session(draw({"x": Input(shape=[2]), "show": Display()}, {"show.x": "x"}))
    first = session.run({"x": fed})
    first.values["show.out"][:] = 9
    second = session.run({"x": fed})
    assert first.values["x.out"].tolist() == [1, 2]
    assert second.values["show.out"].tolist() == [1, 2]
    assert fed.tolist() == [1, 2]
    values = Session(seed()).values
    values["a"][:] = 0
    assert Session(seed()).values["a"].tolist() == [[1, 2]]


def test_equal_sessions_give_equal_bits_and_random_blocks_draw_anew_each_step() -> None:
    diagram = draw(
        {"noise": RandomNormal(shape=(4,), seed=3), "w": Variable(value=1.0), "mul": Mul(),
         "sum": Sum(), "loss": Loss()},
        {"mul.a": "noise", "mul.b": "w", "sum.x": "mul", "loss.x": "sum"},
    )  # fmt: skip
    one, other = Session(diagram), Session(diagram)
    first = one.run().values["noise.out"]
    assert first.tobytes() == other.run().values["noise.out"].tobytes()
    assert first.tobytes() == one.run().values["noise.out"].tobytes()
    one.step(SGD())
    assert first.tobytes() != one.run().values["noise.out"].tobytes()
    other.step(SGD())
    assert one.run().values["noise.out"].tobytes() == other.run().values["noise.out"].tobytes()


def test_a_problem_on_the_way_is_an_error_unless_partial() -> None:
    diagram = draw(
        {
            "x": Constant(value=[1.0, 2.0]),
            "y": Constant(value=[1.0, 2.0, 3.0]),
            "bad": Add(),
            "after": Square(),
            "fine": Sum(),
        },
        {"bad.a": "x", "bad.b": "y", "after.x": "bad", "fine.x": "x"},
    )
    with pytest.raises(NotRunnableError, match=r"bad: Shapes \[2\] and \[3\] don't broadcast"):
        Session(diagram).run()
    with pytest.raises(NotRunnableError, match=r"^after: bad: Shapes"):
        Session(diagram).run(ports=["after"])
    assert Session(diagram).run(ports=["fine"]).values == {"fine.out": 3}
    partial = Session(diagram, partial=True)
    assert set(partial.run().values) == {"x.out", "y.out", "fine.out"}
    assert [d.location.block for d in partial.diagnostics] == ["bad"]


def test_a_failing_run_names_its_block_and_a_partial_one_goes_on() -> None:
    diagram = draw(
        {
            "x": Variable(value=[1.0, 2.0]),
            "at": Constant(value=[5]),
            "pick": Gather(),
            "sum": Sum(),
            "loss": Loss(),
            "other": Square(),
        },
        {"pick.x": "x", "pick.indices": "at", "sum.x": "pick", "loss.x": "sum", "other.x": "x"},
    )
    with pytest.raises(RunError, match=r"pick: .*index 5 is out of range for an axis of length 2"):
        Session(diagram).run()
    partial = Session(diagram, partial=True)
    run = partial.backward()
    assert run.values["other.out"].tolist() == [1, 4]
    assert "sum.out" not in run.values
    assert [d.code for d in partial.diagnostics] == ["run-failed"]


def test_training_moves_what_has_a_gradient_and_nothing_else() -> None:
    session = Session(seed())
    run = session.step(SGD(lr=0.5, weight_decay=0.1))
    assert run.values.keys() == {"loss.out"}
    assert session.values["b"].tolist() == [[0, 1]]
    assert session.values["a"].tolist() == [[np.float32(0.45), np.float32(1.4)]]
    trained = session.diagram_with_values()
    assert Session(trained).values["a"].tolist() == session.values["a"].tolist()
    assert Session(session.diagram).values["a"].tolist() == [[1, 2]]


def test_a_gradient_block_is_differentiated_again() -> None:
    session = Session(
        draw(
            {
                "x": Variable(value=[1.5, -2.0, 0.5], dtype="float64"),
                "sq": Square(),
                "cube": Mul(),
                "f": Sum(),
                "g": Gradient(),
                "h": Gradient(),
            },
            {"sq.x": "x", "cube.a": "sq", "cube.b": "x", "f.x": "cube", "g.of": "f",
             "g.wrt": "x", "h.of": "g", "h.wrt": "x"},
        )
    )  # fmt: skip
    run = session.backward(["h"], out_gradients={"h": [1, 1, 1]})
    assert run.values["g.out"].tolist() == [6.75, 12.0, 0.75]
    assert run.values["h.out"].tolist() == [9.0, -12.0, 3.0]
    assert run.gradients["x"].tolist() == [6, 6, 6]


def test_a_stop_cuts_all_orders() -> None:
    session = Session(
        draw(
            {"x": Variable(value=3.0), "stop": StopGradient(), "mul": Mul(), "g": Gradient(),
             "loss": Loss()},
            {"stop.x": "x", "mul.a": "stop", "mul.b": "x", "g.of": "mul", "g.wrt": "x",
             "loss.x": "g"},
        )
    )  # fmt: skip
    run = session.backward()
    assert run.values["g.out"] == 3
    assert run.gradients["x"] is None


def test_a_gradient_block_without_a_path_is_zero_and_warned_about() -> None:
    session = Session(
        draw(
            {"x": Variable(value=3.0), "y": Variable(value=2.0), "g": Gradient()},
            {"g.of": "x", "g.wrt": "y"},
        )
    )
    assert session.run().values["g.out"] == 0
    [warning] = session.diagnostics
    assert (warning.severity, warning.location.block, warning.code) == ("warning", "g", "no-path")


def test_unknown_names_suggest_near_ones() -> None:
    session = product()
    with pytest.raises(RunError, match="Did you mean loss"):
        session.backward(["los"])
    with pytest.raises(RunError, match="no block or output"):
        session.run(ports=["mul.sum"])


def test_shapes_follow_from_what_is_given() -> None:
    session = Session(
        draw(
            {
                "data": Input(),
                "w1": Variable(),
                "b1": Variable(),
                "fc1": Linear(units=4),
                "w2": Variable(),
                "b2": Variable(),
                "fc2": Linear(units=2),
                "t": Input(),
                "mse": MeanSquaredError(),
            },
            {"fc1.x": "data", "fc1.weight": "w1", "fc1.bias": "b1", "fc2.x": "fc1",
             "fc2.weight": "w2", "fc2.bias": "b2", "mse.prediction": "fc2", "mse.target": "t"},
        )
    )  # fmt: skip
    shapes = session.infer_shapes({"data": (5, 3)})
    assert shapes.arguments == {
        "data": (5, 3),
        "w1": (4, 3),
        "b1": (4,),
        "w2": (2, 4),
        "b2": (2,),
        "t": (5, 2),
    }
    assert shapes.ports["fc2.out"] == (5, 2)
    assert session.infer_shapes().arguments["data"] is None
    feeds = {"data": np.ones((5, 3)), "t": np.zeros((5, 2))}
    assert session.backward(feeds=feeds).gradients["w1"].shape == (4, 3)
    assert session.backward(feeds={"data": np.ones((2, 3)), "t": np.zeros((2, 2))}).gradients[
        "b1"
    ].shape == (4,)


def test_a_clash_of_shapes_names_the_block() -> None:
    session = Session(
        draw(
            {"a": Variable(shape=[2, 3]), "b": Variable(shape=[2, 3]), "mm": MatMul()},
            {"mm.a": "a", "mm.b": "b"},
        ),
        partial=True,
    )
    [problem] = session.diagnostics
    assert str(problem).startswith("mm: Shapes [2, 3] and [2, 3] can't be multiplied")


def test_a_step_takes_output_gradients_of_heads_that_are_no_numbers() -> None:
    session = product()
    session.step(SGD(lr=1.0), ["mul"], out_gradients={"mul": [1, 10]})
    assert session.values["a"].tolist() == [1 - 3, 2 - 40]


def results_of_threads(run: Callable[[Array], Array]) -> list[bool]:
    """Whether each of many calls from several threads at once answered its own question."""
    start = Barrier(4)

    def ask(number: int) -> list[bool]:
        start.wait(timeout=60)
        return [bool(np.all(run(np.full(1 << 15, number)) == 3 * number)) for _ in range(50)]

    with ThreadPoolExecutor(4) as threads:
        return [answer for answers in threads.map(ask, range(1, 5)) for answer in answers]


def test_threads_may_share_a_session_and_what_it_prepared() -> None:
    parts = {"x": Input(shape=[1 << 15]), "mul": Mul(literals={"b": PortLiteral(3)})}
    session = Session(draw(parts, {"mul.a": "x"}))
    call = session.prepare(["x"], values=["mul"], wrt=())
    assert all(results_of_threads(lambda x: session.run({"x": x}).values["mul.out"]))
    assert all(results_of_threads(lambda x: np.asarray(call(x)[0])))


def test_each_of_many_threads_gets_the_numbers_of_its_own_call() -> None:
    """Values, gradients, adjoints and norms, while others call with other feeds and shapes."""
    parts = {"x": Input(), "w": Variable(value=2.0), "mul": Mul(), "sum": Sum(), "loss": Loss()}
    session = Session(draw(parts, {"mul.a": "x", "mul.b": "w", "sum.x": "mul", "loss.x": "sum"}))
    threads, calls = 8, 40
    start = Barrier(threads)

    def ask(thread: int) -> list[float]:
        start.wait(timeout=60)
        found = []
        for call in range(calls):
            x = np.full((1 + call % 3) << 14, float(1 + thread + threads * call))
            if call % 2:
                value = session.run({"x": x}).values["mul.out"]
                found.append(float(value.sum() / (2 * x.sum())))
                continue
            run = session.backward(feeds={"x": x}, adjoints=["mul.out"], norms=True)
            gradient, value = run.gradients["w"], run.values["loss.out"]
            assert gradient is not None and run.adjoints["mul.out"] is not None
            found += [float(gradient / x.sum()), float(value / (2 * x.sum()))]
            found += [float(run.adjoints["mul.out"].mean())]
            found += [float(run.measured["mul.b"] / x.sum())]
        return found

    with ThreadPoolExecutor(threads) as pool:
        answers = np.array(list(pool.map(ask, range(threads))))
    assert answers.shape == (threads, calls // 2 * 5)
    np.testing.assert_allclose(answers, 1.0)


def test_threads_may_train_one_session() -> None:
    parts = {"w": Variable(value=[0.0] * 4096), "sum": Sum(), "loss": Loss()}
    session = Session(draw(parts, {"sum.x": "w", "loss.x": "sum"}))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: session.step(SGD(1.0)), range(100)))
    assert session.step_number == 100
    assert (session.values["w"] == -100).all()


def test_a_shape_beyond_memory_is_an_error_of_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2**20)
    parts = {"w": Variable(shape=[2**10, 2**10]), "v": Variable(value=1.0), "loss": Loss()}
    diagram = draw(parts, {"loss.x": "v"})
    with pytest.raises(RunError, match=r"w: There is not enough memory .* smaller\.") as caught:
        Session(diagram).run(ports=["w"])
    assert caught.value.location == Location("main", "w")
    partial = Session(diagram, partial=True)
    assert set(partial.backward().values) == {"v.out", "loss.out"}
    assert [each.location.block for each in partial.diagnostics] == ["w"]


def test_a_variable_that_would_not_fit_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "machine_bytes", lambda: 2**20)
    with pytest.raises(RunError, match="while its numbers are drawn") as caught:
        Session(draw({"w": Variable(shape=[2**16])}, {})).run(ports=["w"])
    assert caught.value.location == Location("main", "w")


def test_a_result_that_is_only_a_view_needs_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2**20)
    parts = {"v": Variable(value=1.0), "wide": Broadcast(shape=[2**10, 2**10]), "loss": Loss()}
    diagram = draw(parts, {"wide.x": "v", "loss.x": "v"})
    with pytest.raises(RunError, match="with the other results") as caught:
        Session(diagram).run()
    assert caught.value.location == Location("main", "wide")
    partial = Session(diagram, partial=True)
    assert set(partial.backward().values) == {"v.out", "loss.out"}


def test_memory_may_end_while_results_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def copy() -> NDArray[Any]:
        raise MemoryError

    monkeypatch.setattr(Plan, "reader", lambda plan, value: copy)
    with pytest.raises(RunError, match=r"not enough memory .*, as a result") as caught:
        product().run(ports=["mul"])
    assert caught.value.location is not None
    assert caught.value.location.block == "mul"


def test_the_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2**20, 2**20))
    assert memory.machine_bytes.__wrapped__() == 2**20
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    assert memory.machine_bytes.__wrapped__() > 2**20


def test_blocks_that_only_together_need_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2**20)
    parts = {"w": Input(shape=[2**17]), "a": Square(), "b": Square()}
    session = Session(draw(parts, {"a.x": "w", "b.x": "a"}))
    with pytest.raises(RunError, match="with what the other blocks take") as caught:
        session.run({"w": np.zeros(2**17)}, ports=["a", "b"])
    assert caught.value.location is not None
    assert caught.value.location.block in ("a", "b")


def test_a_string_is_one_name() -> None:
    session = product()
    run = session.backward("loss", wrt="a", ports="mul", adjoints="mul", contributions="mul.a")
    assert list(run.values) == ["mul.out"] and list(run.gradients) == ["a"]
    assert list(run.adjoints) == ["mul.out"] and list(run.contributions) == ["mul.a"]
    assert session.arguments("loss") == ["a", "b"]
    assert session.prepare("a", values="loss", wrt="b").results == ("loss.out", "b")
    assert list(session.step(SGD(), "loss", wrt="a").gradients) == ["a"]


@pytest.mark.parametrize("subject", [None, "m.gradwire.json", variable("x", 1.0)])
def test_what_is_no_diagram_is_refused_with_what_to_write(subject: Any) -> None:
    with pytest.raises(RunError, match=r"Write Session\(build\(\.\.\.\)\)"):
        Session(subject)


@pytest.mark.parametrize("optimiser", [None, SGD, 0.1])
def test_what_is_no_optimiser_is_refused_with_what_to_write(optimiser: Any) -> None:
    with pytest.raises(RunError, match=r"Make one, such as SGD\(lr=0\.1\)"):
        product().step(optimiser)


def test_a_page_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(RunError, match=r"no page 'mian'. Expected one of main. Did you mean main"):
        Session(seed(), page="mian")


def test_what_becomes_of_unconnected_variables_is_one_of_two() -> None:
    with pytest.raises(RunError, match="'none' or 'zero'"):
        Session(seed()).backward(unconnected="zeros")  # type: ignore[arg-type]  # as untyped callers may
