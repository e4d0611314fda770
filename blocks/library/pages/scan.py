"""A page that runs once per step, as loops and recurrent networks do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from gradwire.blocks.library.pages.page import Page
from gradwire.blocks.limits import MAX_INSTANCES
from gradwire.blocks.path_lists import PathList


def _pairs(data: object) -> object:
    """A mapping from text such as ``h=h_next, c=c_next``; text in braces is JSON."""
    if not isinstance(data, str):
        return data
    if data.strip().startswith("{"):
        try:
            return json.loads(data)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    parts = [part.partition("=") for part in data.split(",") if part.strip()]
    if not all(equals for _, equals, _ in parts):
        raise ValueError("write pairs input=output, such as h=h_next, c=c_next")
    return {name.strip(): output.strip() for name, _, output in parts}


Pairs = Annotated[Mapping[str, str], BeforeValidator(_pairs)]
"""The type of parameters that map inputs to outputs."""


class Scan(Page):
    """Runs a page once per step: ``h[t+1], y[t] = f(h[t], x[t])``.

    Its ports are those of the page. An input in ``over`` gives step t its element t along axis 0.
    An input in ``carry`` has its initial value outside, and in each further step the value that an
    output had in the step before; that output then gives out its last value. Each other input is
    the same in all steps, and each other output is stacked along a new axis 0.

    The steps run as uses of the page at ``rnn/0``, ``rnn/1``, …, and share its variables: the
    gradient of a variable is the sum over the steps. A carried value keeps its shape, and its
    dtype from step to step; what is carried in may be a scalar or of another dtype.

    With ``condition`` the loop ends after the first step in which that output is false: carried
    values stay, and stacked outputs are 0 from there on. All steps are computed even so, and those
    after the end get the gradient 0. If the condition itself is carried, what is carried in says
    whether there is a first step.
    """

    symbol: ClassVar[str] = "↻"
    formula: ClassVar[str] = r"h_{t+1}, y_t = f(h_t, x_t)"

    steps: int = Field(default=1, ge=0, le=MAX_INSTANCES)
    """How often the page runs, dimensionless; the length of axis 0 of the inputs in ``over``."""
    carry: Pairs = Field(default_factory=dict)
    """Inputs with the output whose value they get in the next step: ``h=h_next, c=c_next``."""
    over: PathList = ()
    """Inputs that get one element along axis 0 per step."""
    reverse: bool = False
    """Whether the steps run from the last element to the first; outputs keep the elements'
    order."""
    condition: str = ""
    """Output, a single boolean, that ends the loop where it is false; empty to run all steps."""

    def label(self) -> str:
        """The symbol and the number of steps."""
        return f"{self.symbol} {self.steps:,}"

    def order(self) -> range:
        """The numbers of the steps, in the order in which they run."""
        return range(self.steps)[:: -1 if self.reverse else 1]

    def has_step(self, name: str) -> bool:
        """Whether this is the number of a step, as paths have it."""
        known = name.isascii() and name.isdecimal() and len(name) <= len(str(self.steps))
        return known and name == str(int(name)) and int(name) < self.steps

    def with_port_renamed(self, old: str, new: str) -> Self:
        """The same Scan once a port of its page has another name."""
        named = {old: new}
        carry = {named.get(k, k): named.get(v, v) for k, v in self.carry.items()}
        over = tuple(named.get(name, name) for name in self.over)
        condition = named.get(self.condition, self.condition)
        return self.model_copy(update={"carry": carry, "over": over, "condition": condition})

    def without_ports(self, gone: Collection[str]) -> Self:
        """The same Scan once its page lacks these ports."""
        carry = {k: v for k, v in self.carry.items() if k not in gone and v not in gone}
        over = tuple(name for name in self.over if name not in gone)
        condition = "" if self.condition in gone else self.condition
        return self.model_copy(update={"carry": carry, "over": over, "condition": condition})

    @model_validator(mode="after")
    def _check_roles(self) -> Self:
        both = [name for name in self.over if name in self.carry]
        if both:
            raise ValueError(f"input {both[0]!r} is in carry and in over; it can have one role")
        twice = [name for name, n in Counter(self.carry.values()).items() if n > 1]
        if twice:
            raise ValueError(f"output {twice[0]!r} is carried to two inputs; give each its own")
        return self
