"""What every registered block owes: it describes itself, round-trips, and traces truthfully."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from pydantic import ValidationError

from gradwire.blocks import Block
from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.pages import Page
from gradwire.blocks.registry import registry
from tests.blocks.examples import EXAMPLES, Example
from tests.blocks.single import Single, Slope, difference, differences
from tests.together import together

CLASSES = list(registry().classes.values())

every_class = together("cls", CLASSES, ids=lambda cls: cls.type_name())
every_example = together("example", EXAMPLES)


@pytest.mark.night
@every_class
def test_describes_itself(cls: type[Block]) -> None:
    summary = cls.summary()
    assert summary.endswith(".") and len(summary) <= 100
    assert inspect.getdoc(cls) != inspect.getdoc(Block)
    assert 1 <= len(cls.symbol) <= 5
    assert cls.formula and "$" not in cls.formula
    assert cls.formula.count("{") == cls.formula.count("}")
    assert cls.family
    assert isinstance(cls().label(), str)
    for name, field in cls.parameters().items():
        assert field.description, f"{name} has no docstring"


@every_class
def test_record_round_trip(cls: type[Block]) -> None:
    block = cls()
    assert block.to_record() == {}
    assert cls.from_record({}) == block
    assert cls.from_record(json.loads(json.dumps(block.to_record()))) == block


@every_example
def test_record_round_trip_with_parameters(example: Example) -> None:
    block = example.block
    record = json.loads(json.dumps(block.to_record()))
    assert type(block).from_record(record) == block
    assert type(block).from_record(record).to_record() == record


@every_class
def test_frozen(cls: type[Block]) -> None:
    block = cls()
    for name in cls.parameters():
        with pytest.raises(ValidationError, match="frozen"):
            setattr(block, name, getattr(block, name))


@together(
    "cls", [cls for cls in CLASSES if not issubclass(cls, Page)], ids=lambda cls: cls.type_name()
)
def test_unknown_parameter_refused(cls: type[Block]) -> None:
    """A page takes any name: which ports it has is known only in a diagram."""
    with pytest.raises(ParameterError, match="no parameter or input 'bogus'"):
        cls.from_record({"bogus": 1})


@every_class
def test_json_schema(cls: type[Block]) -> None:
    schema = cls.model_json_schema()
    json.dumps(schema)
    assert schema["additionalProperties"] is False
    assert set(cls.parameters()) <= set(schema["properties"])


@every_class
def test_a_new_block_owns_what_it_may(cls: type[Block]) -> None:
    block = cls.new()
    assert block.owned == cls.ownable
    assert cls.from_record(json.loads(json.dumps(block.to_record()))) == block
    for port in cls.inputs:
        if port.name not in cls.ownable:
            with pytest.raises(ParameterError, match="can't own a variable"):
                name = port.name + ".0" if port.variadic else port.name
                cls.from_record({name: {"variable": {}}})


@every_class
def test_literals_round_trip(cls: type[Block]) -> None:
    for port in cls.inputs:
        name = f"{port.name}.0" if port.variadic else port.name
        block = cls.from_record({name: [0.5, 1.0]})
        assert block.to_record() == {name: [0.5, 1.0]}
        assert block.with_parameters(**{name: None}) == cls()


@pytest.mark.night
@every_example
def test_traced_shape_and_dtype_are_those_of_the_value(example: Example) -> None:
    single = Single(example.block, **example.inputs)
    value = single.value()
    assert single.traced == (value.shape, value.dtype.name)


@every_example
def test_derivative_is_the_central_difference(example: Example) -> None:
    single = Single(example.block, **example.inputs)
    seed = np.random.default_rng(3).uniform(0.5, 1.5, single.traced[0])
    found = single.gradients(seed)
    assert {port for port, gradient in found.items() if gradient is None} == example.closed
    if example.surrogate:
        return
    for port, gradient in found.items():
        if gradient is not None:
            expected = differences(single, port, seed)
            np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7, err_msg=port)


@pytest.mark.night
@together("example", [e for e in EXAMPLES if not e.surrogate])
def test_second_derivative_is_the_difference_of_the_first(example: Example) -> None:
    """Along a random direction: a wrong element shows in the sum."""
    for wrt in sorted(set(example.inputs) - example.closed):
        slope = Slope(example.block, wrt, **example.inputs)
        rng = np.random.default_rng(3)
        seed = rng.uniform(0.5, 1.5, slope.traced[0])
        for port, gradient in slope.gradients(seed).items():
            if port in example.closed:
                assert gradient is None
                continue
            shape = slope.inputs[port].shape
            direction = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
            expected = difference(slope, port, seed, direction)
            terms = np.zeros(shape) if gradient is None else gradient * direction
            bound = 1e-6 * max(1, np.sum(np.abs(terms)))
            np.testing.assert_allclose(terms.sum(), expected, rtol=1e-5, atol=bound, err_msg=port)


@pytest.mark.night
@together("example", [e for e in EXAMPLES if getattr(e.block, "dtype", None) != "float64"])
def test_float32_stays_float32(example: Example) -> None:
    narrow = {
        port: array.astype(np.float32) if array.dtype == np.float64 else array
        for port, array in example.inputs.items()
    }
    single = Single(example.block, **narrow)
    assert single.traced[1] != "float64"
    assert single.value().dtype.name == single.traced[1]


@pytest.mark.night
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16"])
def test_other_dtypes_work_or_are_refused(dtype: str) -> None:
    """No block fails with an error of numpy's, or says a dtype that does not come out."""
    for example in EXAMPLES:
        inputs = {
            port: np.abs(array).astype(dtype) if array.dtype == np.float64 else array
            for port, array in example.inputs.items()
        }
        try:
            single = Single(example.block, **inputs)
            value = single.value()
            single.gradients()
        except GradwireError:
            continue
        assert single.traced == (value.shape, value.dtype.name), f"{example}, {dtype}"
