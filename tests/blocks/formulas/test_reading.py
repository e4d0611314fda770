from __future__ import annotations

import pytest

from gradwire.blocks.formulas.literals import MAX_NUMBERS
from gradwire.blocks.formulas.places import FormulaError
from gradwire.blocks.formulas.reading import is_data, looks_like_formula, read
from gradwire.runtime.build import build
from tests.together import together


def kinds(text: str) -> dict[str, str]:
    """Types of the blocks of a formula, by name."""
    made = build(*read(text).results).main
    return {name: type(block).type_name() for name, block in made.blocks.items()}


def wires(text: str) -> dict[str, str]:
    made = build(*read(text).results).main
    return {str(target): str(source) for target, source in made.wires.items()}


def test_a_loss_of_a_linear_model():
    assert kinds("loss = mean((x @ W + b - t)**2)") == {
        "x": "Input",
        "W": "Variable",
        "mat_mul1": "MatMul",
        "b": "Variable",
        "add1": "Add",
        "t": "Input",
        "sub1": "Sub",
        "pow1": "Pow",
        "mean1": "Mean",
        "loss": "Loss",
    }


@together(
    ("text", "kind"),
    [
        ("a + b", "Add"),
        ("a - b", "Sub"),
        ("a * b", "Mul"),
        ("a / b", "Div"),
        ("a ** b", "Pow"),
        ("a @ b", "MatMul"),
        ("a % b", "Mod"),
        ("-a", "Neg"),
        ("a > b", "Greater"),
        ("a >= b", "GreaterEqual"),
        ("a < b", "Less"),
        ("a <= b", "LessEqual"),
        ("a == b", "Equal"),
        ("a != b", "NotEqual"),
        ("not a", "Not"),
        ("a and b", "And"),
        ("a or b", "Or"),
        ("a if c else b", "Where"),
        ("a.T", "Transpose"),
        ("stop_gradient(a)", "StopGradient"),
        ("a.sum(axis=0)", "Sum"),
        ("a.matmul(b)", "MatMul"),
        ("conv2d(a, b, stride=(2, 2))", "Conv2D"),
        ("+relu(a)", "Relu"),
        ("loss_of_a = a", "Loss"),
        ("x_loss = a * a", "Loss"),
    ],
)
def test_the_last_block_is(text, kind):
    assert list(kinds(text).values())[-1] == kind


def test_operands_keep_their_sides_and_their_grouping():
    assert wires("y = a - b - c") == {
        "sub1.a": "a.out",
        "sub1.b": "b.out",
        "y.a": "sub1.out",
        "y.b": "c.out",
    }
    assert wires("y = a ** b ** c")["y.b"] == "pow1.out"
    assert wires("y = a and b and c")["y.a"] == "and1.out"


def test_statements_name_blocks_and_read_each_other():
    text = "h = relu(x @ W)\ny = h * h; c = 2; z = y * c"
    assert wires(text)["y.a"] == wires(text)["y.b"] == "h.out"
    assert kinds(text)["c"] == "Constant"
    assert list(read(text).free) == ["x", "W"]


def test_sources_are_chosen_by_name_or_by_call():
    text = "y = x * w; q = variable([1, 2]); k = constant(3.5); i = input([0, 1]); z = q * k * i"
    found = kinds(text)
    assert [found[name] for name in "xwqki"] == [
        "Input",
        "Variable",
        "Variable",
        "Constant",
        "Input",
    ]
    (block,) = [e.node.block for e in read("q = variable([1, 2], trainable=False)").results]
    assert block.value.array.tolist() == [1, 2] and not block.trainable


@pytest.mark.parametrize("name", ["x", "t", "y", "x2", "x_train", "target_value", "labels", "data"])
def test_names_of_data(name):
    assert is_data(name)
    assert not is_data(f"w{name}")


def test_numbers_become_literals_and_parameters():
    made = build(*read("y = softmax([1, -2.5] * a, axis=-1) + 1 / 4").results).main
    assert made.blocks["mul1"].literals["a"].to_json() == [1, -2.5]
    assert made.blocks["y"].literals["b"].to_json() == 0.25
    assert made.blocks["softmax1"].axis == -1


def test_parts_are_slices():
    made = build(*read("y = x[0, 1:3]").results).main
    (part,) = [block for block in made.blocks.values() if type(block).type_name() == "Slice"]
    assert (list(part.begin), list(part.size)) == ([0, 1], [1, 2])


def test_parts_are_taken_as_numpy_takes_them():
    made = build(*read("y = x[..., None, 1:-1:2]").results).main
    kinds = {type(block).type_name(): block for block in made.blocks.values()}
    part = kinds["Slice"]
    assert (part.begin, part.size, part.step, part.last) == ((1,), (-2,), (2,), 1)
    assert kinds["ExpandDims"].axis == -2


def test_known_names_are_not_made_anew():
    known = {"h": read("h = relu(a)").results[0]}
    assert read("y = h * w", known).free.keys() == {"w"}
    with pytest.raises(FormulaError, match="'h' exists already"):
        read("h = 2 * w", known)


@together(
    ("text", "offset", "what"),
    [
        ("x +", 3, "no formula"),
        ("y = relu(x", 8, "was never closed"),
        ("y = sin(ö) + qos(ö)", 13, "no block 'qos'. Did you mean cos?"),
        ("a = 1\nb = foo(a)", 10, "no block 'foo'"),
        ("  y = foo(a)", 6, "no block 'foo'"),
        ("y = x.reshap(2)", 6, "Did you mean reshape?"),
        ("y = softmax(x, axis=7.5)", 15, "Expected a whole number, got 7.5"),
        ("a = b = 2", 0, "Only one name"),
        ("y += 2", 0, "Only one name"),
        ("y = -a; y = -b", 8, "'y' exists already"),
        ("y = a", 0, "already called 'a'"),
        ("import os", 0, "not part of a formula"),
        ("y = lambda: x", 4, "not part of a formula"),
        ("y = x.__class__", 6, "not part of a formula"),
        ("y = __import__('os')", 4, "no block '__import__'"),
        ("y = x.__len__()", 6, "no block '__len__'"),
        ("y = 'text' * x", 4, "not part of a formula"),
        ("y = x[i]", 6, "An index is a whole number"),
        ("y = x[::0]", 4, "can't be indexed like this"),
        ("y = (a + b)(c)", 5, "This is not a function"),
        ("y = sum(*x)", 8, "not part of a formula"),
        ("y = sum(x, **x)", 13, "by its name"),
        ("y = [1, [2, 3]] + x", 4, "rows of different lengths"),
        ("y = variable(relu(x))", 13, "Expected numbers"),
        ("y = 99999999999999999999 * x", 4, "too large"),
        ("y = mean(x, 2, 3, 4)", 4, "Too many inputs"),
        ("for = 2", 4, "no formula"),
    ],
)
def test_a_mistake_has_its_place(text, offset, what):
    with pytest.raises(FormulaError) as caught:
        read(text)
    assert what in str(caught.value)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    "text",
    [
        "y = " + "(" * 5000 + "x" + ")" * 5000,
        "y = " + "-" * 5000 + "x",
        "y = " + "relu(" * 90 + "x" + ")" * 90,
        "y = x" + " + x" * 4000,
        "y = x\0",
        "y = \ud800",
        "y = " + "x" * 30_000,
        f"y = [{'1,' * (MAX_NUMBERS + 1)}] * x"[:20_000],
        "y = 1e999 * x",
        "y = 10 ** 10 ** 10 * x",
        "y = x ** 99999999999999999999",
        "",
    ],
)
def test_nothing_typed_can_hang_or_fail(text):
    try:
        read(text)
    except FormulaError as error:
        assert 0 <= error.offset <= max(len(text), 20_000)


@pytest.mark.parametrize(
    "text", ["a + b", "y = x", "relu(x", "x[0]", "-x", "a - b", "f(", "a.T @ b"]
)
def test_these_are_meant_as_formulas(text):
    assert looks_like_formula(text)


@pytest.mark.parametrize(
    "text", ["", "relu", "mean squared", '{"blocks": {}}', '"a": 1', "```x=1```"]
)
def test_these_are_not(text):
    assert not looks_like_formula(text)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("α + nosuch(b)", "nosuch"),
        ("α + mean(x, axsi=1)", "axsi"),
        ("  é + softmax(z, axis=α)", "axis"),
        ("é.__class__", "__class__"),
        ("(a + b).foo()", "foo"),
        ("a\n+ b . c", "c"),
        ("é // y", "//"),
        ("(é) << 2", "<<"),
        ("é < y < z", "< z"),
        ("[1, é, 2]", "é"),
        ("é[1, 'a']", "'a'"),
        ("x[0:q]", "q"),
        ("a b", "b"),
        ("é + 'text'", "'text'"),
        ("α = 1; α = 2", "α = 2"),
        ("x – y", "–"),
        ("x\u200b + 1", "\u200b"),
        ("a = é.b.c", "c"),
    ],
)
def test_a_mistake_is_pointed_at(text, at):
    with pytest.raises(FormulaError) as caught:
        read(text)
    assert text[caught.value.offset :].startswith(at)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "x" + ")" * 5_000,
        "-" * 9_000 + "x",
        "+".join("x" * 9_000),
        "x" + ".T" * 5_000,
        "x" + "[0]" * 5_000,
        "[" * 3_000,
        "x" + "**x" * 3_000,
        "mean(" * 1_500 + "x" + ")" * 1_500,
        "9" * 5_000,
        "x" * 10_000_000,
        "x\x00y",
    ],
    ids="parentheses signs sum T indices lists powers calls digits 10MB null".split(),
)
def test_hostile_texts_are_refused_with_a_reason(text):
    with pytest.raises(FormulaError) as caught:
        read(text)
    assert len(caught.value.what.rstrip(". ")) > len("This is no formula:")
    assert 0 <= caught.value.offset <= len(text)


def test_letters_of_other_widths_are_the_same_name():
    assert list(read("\U0001d431 + \uff58 + x").free) == ["x"]
