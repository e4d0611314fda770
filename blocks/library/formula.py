"""An expression as a block.

What reads expressions is imported when there is one: every diagram asks whether it has any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from pydantic import field_validator, model_validator

from gradwire.blocks.block import InputPort
from gradwire.blocks.errors import ParameterError
from gradwire.blocks.library.pages import Composite

if TYPE_CHECKING:
    from gradwire.blocks.formulas.content import FormulaContent


class Formula(Composite):
    """Computes an expression, such as ``(w * x + b)**2``; its free names are the inputs.

    The syntax is that of typed formulas: operators, comparisons, numbers, all blocks as functions
    in snake case (``stop_gradient(x)``, ``sum(x, axis=0)``), ``.T``, methods and indices. Lines
    such as ``d = x - t`` name what later lines read. A single result is the output ``out``; several
    results are outputs of their names. The operations run as if they were blocks of a page:
    ``formula1/stop_gradient1``.
    """

    family: ClassVar[str] = "pages"
    symbol: ClassVar[str] = "ƒ"
    formula: ClassVar[str] = r"y = f(w, x, \ldots)"

    expression: str = "w * x + b"
    """What the block computes: expressions or ``name = expression``, one a line."""

    @classmethod
    def port(cls, name: str) -> InputPort | None:
        """Any name of Python may be an input: which are, is known of a block."""
        from gradwire.blocks.formulas.content import NOT_INPUTS

        return InputPort(name) if name.isidentifier() and name not in NOT_INPUTS else None

    def input_ports(self) -> tuple[InputPort, ...]:
        """An input for each free name of the expression."""
        return tuple(map(InputPort, self.content.inputs))

    def output_names(self) -> tuple[str, ...]:
        """The results of the expression."""
        return self.content.outputs

    def label(self) -> str:
        """The expression as mathematics, in one line."""
        from gradwire.blocks.formulas.notation import plain

        return plain(self.expression)

    def latex(self) -> str:
        """The expression in LaTeX, without dollar signs."""
        from gradwire.blocks.formulas.notation import latex

        return latex(self.expression)

    @property
    def content(self) -> FormulaContent:
        """The blocks that run inside."""
        from gradwire.blocks.formulas.content import content_of

        return content_of(self.expression)

    def with_part(self, part: str, values: Mapping[str, object]) -> str:
        """The expression with parameters of a block inside set; raises ParameterError."""
        from gradwire.blocks.formulas.places import with_keywords

        try:
            return with_keywords(self.expression, self.content.places[part], values)
        except (KeyError, ValueError) as error:
            raise ParameterError(
                f"The expression of a Formula has no place for {' and '.join(values)} of {part!r}.",
                next_step="Unfold the Formula into blocks first.",
            ) from error

    @field_validator("expression")
    @classmethod
    def _check_expression(cls, expression: str) -> str:
        from gradwire.blocks.formulas.content import content_of
        from gradwire.blocks.formulas.places import FormulaError

        try:
            content_of(expression)
        except FormulaError as error:
            what = f"{error}".removesuffix(".")
            raise ValueError(f"at character {error.offset + 1}, {what}") from error
        return expression

    @model_validator(mode="after")
    def _check_literals(self) -> Formula:
        for name in self.literals:
            if name not in self.content.inputs:
                raise ValueError(f"Formula has no parameter or input {name!r}")
        return self
