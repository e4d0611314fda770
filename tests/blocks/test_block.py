"""The Block base: ports from forward's arguments, records, literals, and classes that can't be."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from gradwire.blocks import REQUIRED, Block, InputPort, Opaque, PortLiteral
from gradwire.blocks.errors import BlockDefinitionError, ParameterError
from gradwire.blocks.registry import registry


class Blend(Block):
    """Mixes two values, out = share * a + (1 - share) * b.

    More of it.
    """

    symbol: ClassVar[str] = "%"

    share: float = 0.5
    """How much of a."""

    def forward(self, xp: Any, a: Any, b: Any = 1.0, *rest: Any) -> Any:
        return self.share * a + (1 - self.share) * b


def test_ports_are_the_arguments_of_forward() -> None:
    assert Blend.inputs == (
        InputPort("a"), InputPort("b", 1.0), InputPort("rest", REQUIRED, variadic=True),
    )  # fmt: skip
    assert Blend.inputs[0].required and not Blend.inputs[1].required
    assert Blend.outputs == ("out",)
    assert Blend.family == "test_block"


def test_ports_by_name() -> None:
    assert Blend.port("a") == Blend.inputs[0]
    assert Blend.port("rest.12") == Blend.inputs[2]
    assert Blend.port("rest") is None
    assert Blend.port("a.0") is None
    assert Blend.port("rest.x") is None
    assert Blend.port("share") is None


def test_what_it_says_of_itself() -> None:
    assert Blend.type_name() == "Blend"
    assert Blend.summary() == "Mixes two values, out = share * a + (1 - share) * b."
    assert list(Blend.parameters()) == ["share"]
    assert Blend.parameters()["share"].description == "How much of a."
    assert Blend().label() == "%"


def test_parameters_and_literals_share_one_flat_record() -> None:
    block = Blend.from_record({"share": 0.25, "b": 3, "rest.0": [1, 2]})
    assert block.share == 0.25
    assert block.literals == {"b": PortLiteral(3), "rest.0": PortLiteral([1, 2])}
    assert block.to_record() == {"share": 0.25, "b": 3, "rest.0": [1, 2]}
    assert Blend(share=0.25, b=3, **{"rest.0": [1, 2]}) == block


def test_literals_keep_their_dtype() -> None:
    block = Blend(b={"dtype": "float16", "value": 2})
    assert block.literals["b"].dtype == "float16"
    assert block.to_record() == {"b": {"dtype": "float16", "value": 2}}


def test_with_parameters_makes_another() -> None:
    block = Blend(b=3)
    assert block.with_parameters(share=0.1).to_record() == {"share": 0.1, "b": 3}
    assert block.with_parameters(b=None) == Blend()
    assert block == Blend(b=3)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"bogus": 1}, "has no parameter or input 'bogus'. Expected one of share, a, b, rest"),
        ({"share": "much"}, "'share' of Blend is wrong. Expected a number, got 'much'"),
        ({"shar": 1}, "Did you mean share?"),
        ({"a": "text"}, "literal for input 'a': 'text' is not a number"),
        ({"a": [[1], [1, 2]]}, "rows of different lengths"),
        ({"a": {"dtype": "float99", "value": 1}}, "unknown dtype 'float99'"),
        ({"a": {"value": 1}}, "a typed literal is"),
        ({"rest": 1}, "no parameter or input 'rest'"),
    ],
)
def test_wrong_records(record: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Blend.from_record(record)


def test_opaque_keeps_what_it_does_not_know() -> None:
    record = {"type": "FromAPlugIn", "depth": 3}
    opaque = Opaque(original_type="FromAPlugIn", record=record)
    assert opaque.to_record() == record


def test_a_class_without_forward() -> None:
    with pytest.raises(BlockDefinitionError, match="Nothing has no forward"):

        class Nothing(Block):
            """Nothing."""


def test_a_class_without_docstring() -> None:
    with pytest.raises(BlockDefinitionError, match="has no docstring"):

        class Silent(Block):
            def forward(self, xp: Any, x: Any) -> Any:
                return x


def test_a_forward_without_xp() -> None:
    with pytest.raises(BlockDefinitionError, match="does not begin with self and xp"):

        class Bare(Block):
            """Bare."""

            def forward(self, x: Any) -> Any:
                return x


def test_a_keyword_argument_is_no_port() -> None:
    with pytest.raises(BlockDefinitionError, match="keyword argument 'axis'"):

        class Keyword(Block):
            """Keyword."""

            def forward(self, xp: Any, x: Any, *, axis: int = 0) -> Any:
                return x


def test_a_port_and_a_parameter_of_one_name() -> None:
    with pytest.raises(BlockDefinitionError, match="a port 'x' with the name of a parameter"):

        class Twice(Block):
            """Twice."""

            x: int = 0

            def forward(self, xp: Any, x: Any) -> Any:
                return x


@pytest.mark.parametrize("name", ["type", "literals"])
def test_reserved_names(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def forward(self, xp, {name}): return {name}", namespace)
    with pytest.raises(BlockDefinitionError, match=f"a port '{name}'"):
        type("Reserved", (Block,), {"__doc__": "Reserved.", "forward": namespace["forward"]})


def test_a_default_that_is_no_scalar() -> None:
    with pytest.raises(BlockDefinitionError, match="a default that is no scalar"):

        class Listed(Block):
            """Listed."""

            def forward(self, xp: Any, x: Any = (1, 2)) -> Any:
                return x


def test_a_parameter_without_default() -> None:
    with pytest.raises(BlockDefinitionError, match="Parameter 'depth' of Deep has no default"):

        class Deep(Block):
            """Deep."""

            depth: int

            def forward(self, xp: Any, x: Any) -> Any:
                return x


@pytest.mark.parametrize("outputs", [("out", "out"), ("a b",), ["out"]])
def test_outputs_are_distinct_names(outputs: Any) -> None:
    with pytest.raises(BlockDefinitionError, match="outputs"):
        type("Wrong", (Block,), {
            "__doc__": "Wrong.", "outputs": outputs, "forward": lambda self, xp, x: x,
        })  # fmt: skip


def test_where_a_block_was_written_is_a_part_of_its_record():
    block = registry().get("Add")(written="model.py:42")
    assert block.to_record() == {"written": "model.py:42"}
    assert type(block).from_record(block.to_record()) == block
    assert block.with_parameters(a=1.0).written == "model.py:42"
    assert "written" not in block.parameters()


@pytest.mark.parametrize("text", ["two\nlines", "\x1b[31m", "w" * 301])
def test_a_place_in_a_program_is_one_line_of_limited_length(text):
    with pytest.raises(ParameterError):
        registry().get("Add")(written=text)


def test_blocks_of_the_library_without_parameters_are_one() -> None:
    mul = registry().get("Mul")
    assert mul.from_record({}) is mul.from_record({})
    assert mul.from_record({}) == mul()
    assert mul.from_record({"b": 2.0}) is not mul.from_record({"b": 2.0})
    assert mul.from_record({}) is not registry().get("Add").from_record({})


def test_annotations_of_class_variables_are_not_evaluated_again_for_subclasses() -> None:
    class Base(Block):
        """A base."""

        abstract: ClassVar[bool] = True
        shade: ClassVar[str] = "dark"
        size: int = 1

    assert {*Base.__annotations__} == {"size"}
    assert {"shade", "symbol"} <= Base.__class_vars__


class Noted:
    """A type that notes what its subscripts are evaluated to."""

    evaluated: ClassVar[list[str]] = []

    def __class_getitem__(cls, name: str) -> type[str]:
        cls.evaluated.append(name)
        return str


def test_nor_are_those_that_a_subclass_repeats() -> None:
    class Own(Block):
        """A block that names itself."""

        symbol: ClassVar[Noted["symbol"]] = "o"
        shade: ClassVar[Noted["shade"]] = "dark"
        size: Noted["size"] = "1"

        def forward(self, xp: Any, x: Any) -> Any:
            return x

    assert {*Noted.evaluated} == {"shade", "size"}
    assert Own.parameter_names() == ("size",)
    assert (Own.symbol, Own.shade) == ("o", "dark")


def test_a_parameter_may_have_the_name_of_a_class_variable() -> None:
    with pytest.warns(UserWarning, match="shadows"):

        class Own(Block):
            """A block with its symbol as a parameter."""

            symbol: str = "o"

            def forward(self, xp: Any, x: Any) -> Any:
                return x

    assert Own(symbol="p").symbol == "p"
