import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradwire.blocks import PortLiteral
from gradwire.blocks.block import Block
from gradwire.blocks.errors import BuildError, ParameterError, UnknownBlockError
from gradwire.blocks.registry import registry
from gradwire.runtime import build as build_module
from gradwire.runtime.build import (
    and_,  # noqa: F401  a keyword's block: its name must be importable
    block,
    build,
    concat,
    constant,
    input,
    loss,
    mat_mul,
    matmul,
    mul,
    page,
    pow,
    relu,
    scan,
    stop_gradient,
    variable,
)
from gradwire.runtime.diagram import arrange, check, dumps, loads
from gradwire.runtime.engine import Session
from tests.runtime.diagram.drawing import make

ROOT = Path(__file__).parents[2]


def wires(diagram, page="main"):
    return {str(t): str(s) for t, s in diagram.pages[page].wires.items()}


def blocks(diagram, page="main"):
    return dict(diagram.pages[page].blocks)


class TestTheSeed:
    def seed(self):
        a, b = variable("a", [[1, 2]]), variable("b", [[0, 1]])
        return build(loss(stop_gradient(3 * b) + a), title="Seed", description="From MXNet.")

    def test_reads_like_the_maths(self):
        diagram = self.seed()
        assert blocks(diagram) == {
            "a": make("Variable", value=[[1, 2]]),
            "b": make("Variable", value=[[0, 1]]),
            "mul1": make("Mul", a=3),
            "stop_gradient1": make("StopGradient"),
            "add1": make("Add"),
            "loss": make("Loss"),
        }
        assert wires(diagram) == {
            "mul1.b": "b.out",
            "stop_gradient1.x": "mul1.out",
            "add1.a": "stop_gradient1.out",
            "add1.b": "a.out",
            "loss.x": "add1.out",
        }
        assert (diagram.title, diagram.description) == ("Seed", "From MXNet.")

    def test_stands_in_the_order_of_writing_and_is_laid_out(self):
        diagram = self.seed()
        assert list(diagram.main.blocks) == ["a", "b", "mul1", "stop_gradient1", "add1", "loss"]
        assert arrange(diagram) == diagram

    def test_is_the_same_every_time(self):
        assert dumps(self.seed()) == dumps(self.seed())
        assert loads(dumps(self.seed())) == self.seed()
        assert check(self.seed()) == []


class TestOperators:
    @pytest.mark.parametrize(
        ("written", "kind"),
        [
            (lambda x, y: x + y, "Add"),
            (lambda x, y: x - y, "Sub"),
            (lambda x, y: x * y, "Mul"),
            (lambda x, y: x / y, "Div"),
            (lambda x, y: x**y, "Pow"),
            (lambda x, y: x @ y, "MatMul"),
            (lambda x, y: x % y, "Mod"),
        ],
    )
    def test_with_expressions_and_numbers_on_either_side(self, written, kind):
        x, y = variable("x"), variable("y")
        both = build(written(x, y).named("it"))
        assert wires(both) == {"it.a": "x.out", "it.b": "y.out"}
        right = build(written(x, 2.5).named("it"))
        assert (blocks(right)["it"], wires(right)) == (make(kind, b=2.5), {"it.a": "x.out"})
        left = build(written([[1, 2]], x).named("it"))
        assert (blocks(left)["it"], wires(left)) == (make(kind, a=[[1, 2]]), {"it.b": "x.out"})

    @pytest.mark.parametrize(
        ("written", "kind"),
        [
            (lambda x: (x > 0) & (x < 1), "And"),
            (lambda x: (x > 0) | (x < 1), "Or"),
            (lambda x: (x > 0) ^ (x < 1), "Xor"),
            (lambda x: ~(x > 0), "Not"),
        ],
    )
    def test_of_conditions(self, written, kind):
        built = build(written(variable("x")).named("it"))
        assert blocks(built)["it"].type_name() == kind
        assert {target.partition(".")[0] for target in wires(built)} >= {"it"}

    def test_minus(self):
        diagram = build((-variable("x")).named("it"))
        assert blocks(diagram)["it"] == make("Neg")

    def test_arrays_keep_their_dtype_and_scalars_are_weak(self):
        x = variable("x")
        diagram = build(
            (np.array([1, 2], np.int8) * x).named("left"),
            (x * np.array([0.1], np.float32)).named("right"),
            (np.float32(0.1) * x).named("scalar"),
        )
        assert blocks(diagram)["left"].literals["a"].array.dtype == np.int8
        assert blocks(diagram)["right"].literals["b"].array.dtype == np.float32
        assert blocks(diagram)["scalar"].literals["a"] == PortLiteral(0.1)
        assert loads(dumps(diagram)) == diagram


class TestBlocks:
    def test_every_installed_block_is_a_function(self):
        assert {"relu", "conv2d", "mean_squared_error"} <= set(dir(build_module))
        for name, cls in registry().classes.items():
            if cls.outputs:
                assert callable(getattr(build_module, name)), name
        with pytest.raises(AttributeError, match="no attribute 'rellu'"):
            build_module.rellu  # noqa: B018

    def test_however_its_name_is_spelt(self):
        x = variable("x")
        for written in (mat_mul(x, x), matmul(x, x), block("MatMul", x, x), block("mat_mul", x, x)):
            assert blocks(build(written.named("it")))["it"] == make("MatMul")

    def test_inputs_go_by_order_or_name_and_parameters_by_name(self):
        x, w = variable("x"), variable("w")
        diagram = build(block("Linear", weight=w, x=x, units=3, name="it"))
        assert blocks(diagram)["it"] == make("Linear", units=3)
        assert wires(diagram) == {"it.weight": "w.out", "it.x": "x.out"}
        assert wires(build(block("Linear", x, None, w, name="it"))) == {
            "it.x": "x.out", "it.bias": "w.out",
        }  # fmt: skip

    def test_a_repeating_input_takes_any_number(self):
        x = variable("x")
        diagram = build(concat(x, [1.0], x, axis=1, name="it"))
        assert blocks(diagram)["it"] == make("Concat", axis=1, **{"parts.1": [1.0]})
        assert wires(diagram) == {"it.parts.0": "x.out", "it.parts.2": "x.out"}

    def test_sources(self):
        diagram = build(
            variable("v", shape=(2, None), trainable=False)
            + constant("c", 2.0)
            + input("i", shape=(None,))
            + input("j", [1.0])
        )
        assert blocks(diagram)["v"] == make("Variable", shape=(2, None), trainable=False)
        assert blocks(diagram)["c"] == make("Constant", value=2.0)
        assert blocks(diagram)["i"] == make("Input", shape=(None,))
        assert blocks(diagram)["j"] == make("Input", value=[1.0])

    def test_several_outputs_of_a_block(self, monkeypatch):
        class Halves(Block):
            """Two halves, ``low, high = x / 2, x / 2``."""

            outputs = ("low", "high")

            def forward(self, xp, x):
                return x / 2, x / 2

        known = {**registry().classes, "Halves": Halves}
        monkeypatch.setattr(registry(), "_classes", known)
        halves = block("Halves", variable("x"))
        low, high = halves
        diagram = build(low + high, halves["high"] * 2)
        assert wires(diagram) == {
            "halves1.x": "x.out",
            "add1.a": "halves1.low",
            "add1.b": "halves1.high",
            "mul1.a": "halves1.high",
        }
        assert repr(high) == "Halves.high"
        assert [repr(part) for part in list(halves)] == ["Halves.low", "Halves.high"]
        with pytest.raises(BuildError, match="has no length yet"):
            len(low + high)


class TestNames:
    def test_names_that_are_not_given_avoid_those_that_are(self):
        x = variable("mul1", 1.0)
        diagram = build(mul(x, 2), mul(x, 3, name="mul3"), mul(x, 4), loss(x), loss(x))
        assert list(diagram.main.blocks) == ["mul1", "mul2", "mul3", "mul4", "loss", "loss2"]

    def test_they_do_not_depend_on_what_else_is_written(self):
        x = variable("x")
        relu(x)
        assert "relu1" in build(relu(x)).main.blocks

    def test_a_clash_names_both_places(self):
        a, b = variable("a"), variable("b")
        first = a.named("a") * 2
        second = mul(b, 2, name="a")
        with pytest.raises(BuildError, match=r"^a: Two blocks are called 'a'\.") as caught:
            build(first + second)
        assert str(caught.value).count(f"{__file__}:") == 2

    def test_a_block_has_one_name(self):
        x = variable("x")
        assert x.named("x") is x
        with pytest.raises(BuildError, match="is already called 'x', not 'y'"):
            x.named("y")
        with pytest.raises(BuildError, match="'a/b' is not a valid name"):
            relu(x, name="a/b")

    def test_only_what_is_read_is_in_the_diagram(self):
        x, _unused = variable("x"), variable("y")
        assert list(build(relu(x)).main.blocks) == ["x", "relu1"]


class TestMistakes:
    @pytest.mark.parametrize(
        ("write", "error", "message"),
        [
            (lambda x: relu(x, x), BuildError, "Too many inputs for Relu. Expected x, got 2."),
            (lambda x: variable("v", x), BuildError, "The value of 'v' must be numbers"),
            (lambda x: pow(x, 2, a=x), BuildError, "Pow got its input 'a' twice."),
            (lambda x: relu(x, slope=1), ParameterError, "Relu has no parameter or input 'slope'"),
            (lambda x: block("Rellu", x), UnknownBlockError, "Did you mean Relu"),
            (lambda x: block("Page", page="p"), BuildError, "Page has no output to use"),
            (lambda x: x + "two", BuildError, "'two' is neither an expression nor numbers"),
            (lambda x: relu(object()), BuildError, "is neither an expression nor numbers"),
            (lambda x: x["y"], BuildError, "x.out has no output 'y'. Expected one of out."),
            (lambda x: list(x), BuildError, "x.out has one output; there is nothing to unpack."),
            (lambda x: 1 if x else 2, BuildError, "x.out has no truth value"),
            (lambda x: build(), BuildError, "Expected one or more losses or other outputs, got n"),
            (lambda x: build(x, 3), BuildError, "got Expression, int."),
        ],
    )
    def test_are_told_where_they_are_made(self, write, error, message):
        with pytest.raises(error) as caught:
            write(variable("x"))
        assert message in str(caught.value)


class TestPages:
    def test_a_function_becomes_a_page(self):
        @page
        def layer(x, factor=2.0):
            """Scale and cut."""
            return relu(x * variable("w") * factor)

        x = variable("x")
        diagram = build(loss(layer(layer(x), 0.5, name="top")))
        assert layer.__doc__ == "Scale and cut."
        assert list(diagram.pages) == ["main", "layer"]
        assert blocks(diagram)["layer1"] == make("Page", page="layer")
        assert blocks(diagram)["top"] == make("Page", page="layer", factor=0.5)
        assert wires(diagram) == {"layer1.x": "x.out", "top.x": "layer1.out", "loss.x": "top.out"}
        assert list(blocks(diagram, "layer")) == [
            "x", "factor", "w", "mul1", "mul2", "relu1", "out",
        ]  # fmt: skip
        assert blocks(diagram, "layer")["factor"] == make("PageInput", x=2.0)
        assert wires(diagram, "layer")["out.x"] == "relu1.out"
        assert arrange(diagram, "layer") == diagram
        assert check(diagram) == []
        assert loads(dumps(diagram)) == diagram

    def test_several_outputs_and_an_input_left_open(self):
        @page("two faced")
        def both(x, y=None):
            return {"same": relu(x), "other": x}

        @page
        def pair(x):
            return x * 1, x * 2

        same = both(variable("x"), None)
        first, second = pair(same["other"])
        diagram = build(first + second, same)
        assert wires(diagram)["pair1.x"] == "two faced1.other"
        assert wires(diagram)["add1.b"] == "pair1.out2"
        assert blocks(diagram, "two faced")["y"] == make("PageInput")
        (problem,) = check(diagram)
        assert (str(problem.location), problem.code) == ("two faced1.y", "missing-input")

    def test_pages_in_pages(self):
        @page
        def inner(x):
            return x * 2

        @page
        def outer(x):
            return inner(inner(x))

        diagram = build(outer(variable("x")))
        assert list(diagram.pages) == ["main", "outer", "inner"]
        assert wires(diagram, "outer")["inner2.x"] == "inner1.out"

    def test_what_is_outside_must_be_passed_in(self):
        w = variable("w")

        @page
        def leaky(x):
            return x * w

        with pytest.raises(BuildError, match="'w' is on page 'main' and can't be read on 'leaky'"):
            leaky(variable("x"))

    def test_what_is_inside_must_be_returned(self):
        kept = []

        @page
        def inner(x):
            kept.append(x * 2)
            return x

        inner(variable("x"))
        with pytest.raises(BuildError, match="on page 'inner' and can't be read on 'main'"):
            relu(kept[0])
        with pytest.raises(BuildError, match="on page 'inner' and can't be read on 'main'"):
            build(kept[0])

    def test_a_page_that_failed_can_be_written_again(self):
        faults = [True]

        @page
        def inner(x):
            if faults.pop() if faults else False:
                raise RuntimeError
            return x

        with pytest.raises(RuntimeError):
            inner(1.0)
        assert list(blocks(build(inner(variable("x"))), "inner")) == ["x", "out"]

    def test_two_pages_of_one_name(self):
        first = page("same")(lambda x: x * 1)
        second = page("same")(lambda x: x * 2)
        with pytest.raises(BuildError, match="Two pages are called 'same'") as caught:
            build(first(1.0) + second(1.0))
        assert str(caught.value).count(f"{__file__}:") == 2

    def test_what_can_not_be_a_page(self):
        @page
        def again(x):
            return again(x)

        @page
        def empty(x):
            return None

        @page
        def many(*x):
            return x

        @page
        def reserved(page):
            return page

        for function, message in (
            (again, "Page 'again' contains itself."),
            (empty, "Page 'empty' must return its outputs."),
            (many, "argument *x can't be a port"),
            (reserved, "argument page can't be a port"),
        ):
            with pytest.raises(BuildError) as caught:
                function(1.0)
            assert message in str(caught.value)
        with pytest.raises(BuildError, match="can't be called 'main'"):
            page("main")
            page("main")(lambda x: x)
        with pytest.raises(BuildError, match="missing a required argument: 'x'"):
            page("fine")(lambda x: x)()


def test_calls_of_a_page_share_variables_unless_independent():
    @page
    def scale(x):
        return x * variable("w", 3.0)

    def gradients(**how):
        diagram = build(loss(scale(scale(1.0, name="one"), name="two", **how)))
        return Session(loads(dumps(diagram))).backward().gradients

    assert gradients() == {"one/w": 6}
    assert gradients(independent=True) == {"one/w": 3, "two/w": 3}


@pytest.mark.night
def test_users_can_check_their_types(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from gradwire.runtime.build import Expression, build, loss, page, relu\n"
        "from gradwire.runtime.build import stop_gradient, variable\n"
        "from gradwire.runtime.diagram import Diagram\n\n"
        "@page\n"
        "def layer(x: Expression) -> Expression:\n"
        "    return relu(x @ variable('w', shape=(2, 2)))\n\n"
        "a = variable('a', [[1, 2]])\n"
        "low, high = layer(2 * a - [1.0, 2.0] / a**2, name='top')\n"
        "diagram: Diagram = build(loss(stop_gradient(-low) + 0.5))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", script],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.night
def test_importing_is_cheap():
    code = (
        "import sys, gradwire.runtime.diagram\n"
        "from gradwire.runtime.build import build\n"
        "heavy = {'safetensors', 'PySide6', 'jax', 'gradwire.blocks.library.losses'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_diagram_is_built_with_its_contracts():
    w = variable("w", 1.0)
    assert build(loss(w), contracts="flows(loss -> w)").contracts == ("flows(loss -> w)",)
    diagram = build(loss(w), contracts=["flows(loss -> w)", "updates(w)"])
    assert loads(dumps(diagram)).contracts == ("flows(loss -> w)", "updates(w)")


def test_a_scan_runs_a_page_of_code():
    @page
    def total(x, sum):
        return {"sum_n": x + sum}

    xs = constant("xs", [1.0, 2.0, 3.0])
    diagram = build(scan(total, xs, 0, steps=3, over="x", carry={"sum": "sum_n"}, name="s"))
    assert Session(diagram).run().values["s.sum_n"] == 6
    assert diagram.main.blocks["s"].over == ("x",)
    with pytest.raises(BuildError, match="A scan runs a page"):
        scan(lambda x: x, xs, steps=3)


def test_a_number_can_not_have_the_name_of_a_parameter_of_a_scan():
    @page
    def counted(x, steps):
        return x * steps

    xs = constant("xs", [1.0, 2.0])
    assert Session(build(scan(counted, xs, xs, steps=2))).run()
    with pytest.raises(BuildError, match="'steps' would be a parameter of Scan"):
        scan(counted, xs, 2.0, steps=2)
