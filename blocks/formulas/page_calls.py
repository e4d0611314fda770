"""Pages that a formula calls by name, ``encoder(x)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gradwire.blocks.errors import BuildError
from gradwire.blocks.formulas.expressions import Expression, first_output, split_operands
from gradwire.blocks.formulas.nodes import make_node
from gradwire.blocks.library.pages import Page
from gradwire.blocks.nearest import did_you_mean


class PageUse(NamedTuple):
    """A page that can be called, with the names of its ports.

    ``refusal`` says why it can't be used, if so.
    """

    page: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    refusal: str = ""

    def call(
        self, given: Sequence[Any], named: Mapping[str, Any], kind: type[Page] = Page
    ) -> Expression:
        """A block that uses the page, with inputs by position and by name; raises BuildError."""
        if self.refusal:
            raise BuildError(self.refusal)
        expected = ", ".join(self.inputs) or "none"
        if len(given) > len(self.inputs):
            raise BuildError(
                f"Page {self.page!r} has fewer inputs.", expected=expected, got=f"{len(given)}"
            )
        inputs = dict(zip(self.inputs, given, strict=False))
        rest = dict(named)
        own = [name for name in kind.parameter_names() if name in rest]
        parameters = {name: rest.pop(name) for name in own}
        for name in rest:
            if name in inputs or name not in self.inputs:
                raise BuildError(
                    f"Page {self.page!r} takes no {name!r} here.",
                    expected=expected,
                    next_step=did_you_mean(name, self.inputs),
                )
        wires, literals = split_operands(kind, inputs | rest)
        made = kind.from_record({**parameters, "page": self.page, **literals})
        return first_output(make_node(made, wires, self.outputs, self.page, None))
