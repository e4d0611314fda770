"""Data sets: rows of a file, or drawn by a generator, in batches that follow the step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gradwire.blocks.block import Block
from gradwire.blocks.library.data.column import Column, Port
from gradwire.blocks.library.data.sources import (
    FEATURES,
    FILE_KINDS,
    GENERATORS,
    MAX_COLUMNS,
    MAX_PATH,
    MAX_ROWS,
    SHAPES,
    TARGET,
    SourceKind,
)
from gradwire.blocks.names import PORT_RULE, is_port

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

_BY_DEFAULT: Mapping[str, Column] = {FEATURES: Column(), TARGET: Column(dtype="int64")}
_REGRESSION: Mapping[str, Column] = {FEATURES: Column(), TARGET: Column()}


EXAMPLE = '{"x": {"of": ["height", "width"]}}'


def _path(text: str) -> str:
    if len(text) > MAX_PATH or not text.isprintable():
        raise ValueError(f"a path has at most {MAX_PATH:,} characters, all printable")
    return text


def _read(columns: object) -> object:
    """Columns that were typed as JSON; none for an empty text."""
    if columns is None:
        return {}
    if not isinstance(columns, str):
        return columns
    try:
        return json.loads(columns)
    except (ValueError, RecursionError):
        raise ValueError(f"{columns[:60]!r} is not JSON such as {EXAMPLE}") from None


def _columns(columns: Mapping[str, Column]) -> Mapping[str, Column]:
    for name in columns:
        if not is_port(name) or "." in name or "/" in name:
            raise ValueError(f"{name!r:.80} can't be a port; a port has {PORT_RULE}, and no . or /")
    return columns


class Dataset(Block):
    """Rows of data, a batch at each step: drawn by a generator, or read from a file.

    Each port has shape (batch, …). At step n of a session it has batch n of a sequence that
    depends on the seed alone: in every epoch each training row comes once, in a new order.
    Validation rows are in no training batch. No gradient goes to data.
    """

    family: ClassVar[str] = "data"
    symbol: ClassVar[str] = "▤"
    formula: ClassVar[str] = r"(x, y) \sim \mathcal{D}"
    outputs: ClassVar[tuple[str, ...]] = (FEATURES, TARGET)

    source: SourceKind = "spirals"
    """Generator, or format of the file."""
    path: Annotated[str, AfterValidator(_path)] = ""
    """Data file, relative to the folder of the diagram's file; empty for a generator."""
    columns: Annotated[
        Mapping[str, Column],
        BeforeValidator(_read),
        Field(max_length=MAX_COLUMNS),
        AfterValidator(_columns),
    ] = Field(default_factory=dict)
    """What each port provides, by its name; none for x and y of a generator."""
    count: int | None = None
    """Rows that the generator draws; null for its default."""
    classes: int | None = None
    """Number of classes, or of components; null for the generator's default."""
    noise: float | None = None
    """Standard deviation of the noise, in units of the data; null for the generator's default."""
    turns: float | None = None
    """Turns of each spiral, or periods of the sine; null for the generator's default."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of the generator, of the split and of the order."""
    batch: Annotated[int, Field(ge=0, le=MAX_ROWS)] = 0
    """Training rows of one batch; 0 for all of them."""
    shuffle: bool = True
    """Whether every epoch has an order of its own, and the validation rows are drawn; otherwise
    rows stay in order, and the last ones are for validation."""
    last_batch: Literal["fill", "drop"] = "fill"
    """What becomes of the rows left at the end of an epoch. All batches have one shape, so they
    are filled up with the first rows of the next epoch, or dropped."""
    validation: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Fraction of the rows that is kept for validation."""
    validation_batch: Annotated[int, Field(ge=0, le=MAX_ROWS)] = 0
    """Validation rows of one batch, in order; 0 for all of them."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        known = GENERATORS.get(self.source, {})
        for name in ("count", "classes", "noise", "turns"):
            value = getattr(self, name)
            if value is None:
                continue
            if name not in known:
                having = [source for source, options in GENERATORS.items() if name in options]
                raise ValueError(f"{self.source} has no {name}; {', '.join(having)} have one")
            _, least, largest = known[name]
            if not least <= value <= largest:
                raise ValueError(f"{name} {value:g} is not from {least:g} to {largest:g}")
        if self.path and not self.is_file:
            raise ValueError(f"{self.source} is a generator and reads no file, but path is given")
        if not self.is_file:
            for port, column in self.columns.items():
                unknown = [name for name in column.of or (port,) if name not in (FEATURES, TARGET)]
                if unknown:
                    raise ValueError(f"{self.source} has the columns x and y, not {unknown[0]!r}")
        return self

    @property
    def is_file(self) -> bool:
        """Whether the rows are those of a file."""
        return self.source in FILE_KINDS

    @property
    def idle_parameters(self) -> tuple[str, ...]:
        """The parameters that do not apply to the source."""
        options = GENERATORS.get(self.source, {})
        idle = tuple(name for name in ("count", "classes", "noise", "turns") if name not in options)
        return idle if self.is_file else (*idle, "path")

    @property
    def provided(self) -> Mapping[str, Column]:
        """What each port provides, by its name, defaults included."""
        if self.columns or self.is_file:
            return self.columns
        return _REGRESSION if self.source == "sine" else _BY_DEFAULT

    def option(self, name: str) -> float:
        """An option of the generator: as given, or its default."""
        given: float | None = getattr(self, name)
        return GENERATORS[self.source][name].default if given is None else given

    def output_names(self) -> tuple[str, ...]:
        return tuple(self.provided)

    def label(self) -> str:
        return PureWindowsPath(self.path).name if self.is_file else self.source

    def validation_rows(self, rows: int) -> int:
        """How many of a number of rows are for validation."""
        return round(rows * self.validation)

    def forward(self, xp: Namespace) -> Value | tuple[Value, ...]:
        """The leaves that the engine fills; only the engine knows the rows of a file."""
        made = []
        for port, column in self.provided.items():
            shape = None
            if not self.is_file:
                rows = int(self.option("count"))
                parts = [SHAPES[self.source][name] for name in column.of or (port,)]
                batch = self.batch or rows - self.validation_rows(rows)
                shape = (batch, *column.row_shape(parts))
            made.append(xp.leaf(Port(shape, column.dtype)))
        return made[0] if len(made) == 1 else tuple(made)
