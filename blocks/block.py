"""The Block base class: fields are parameters, ``forward``'s arguments are ports."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, Unpack

from numpy import typing as npt
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from gradwire.blocks.classes.annotations import forget_class_vars
from gradwire.blocks.classes.docstrings import docstring, field_docstrings
from gradwire.blocks.classes.ports import REQUIRED as REQUIRED
from gradwire.blocks.classes.ports import InputPort as InputPort
from gradwire.blocks.errors import BlockDefinitionError, BlockError
from gradwire.blocks.parameter_errors import parameter_error
from gradwire.blocks.terms import split_term
from gradwire.blocks.values import PortLiteral

if TYPE_CHECKING:
    import numpy as np
    from pydantic.fields import FieldInfo

Shape: TypeAlias = tuple[int, ...]
OpenShape: TypeAlias = tuple[int | None, ...]
B = TypeVar("B", bound="Block")

TreeUse: TypeAlias = Literal["refused", "by leaf", "whole"]
"""How a block treats a tree: it raises, runs forward for each leaf, or passes the whole tree."""

RESERVED = frozenset({"type", "literals", "owned", "bypassed", "written"})
MAX_WRITTEN = 300
"""Maximum number of characters of the place in a program that a block comes from."""
_OWN = "variable"
"""The key of a record that gives an input a variable of its own."""


class Block(BaseModel):
    """A block of a diagram. Subclasses write ``forward`` once; everything else is derived.

    ``forward(self, xp, a, b=1.0, *more)`` is traced, not executed: the arguments are symbolic
    values with ``shape`` and ``dtype``, ``xp`` has array-API names, and the return value (one
    value, or a tuple in the order of ``outputs``) gives the outputs. It must be pure; loops run
    over parameters and static shapes only.

    The pydantic fields are the parameters: they are frozen, and unknown names are rejected. Every
    field has a default, so that a block can be placed first and edited later.

    Raises BlockDefinitionError when a subclass is defined that can't work.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, defer_build=True)

    family: ClassVar[str] = ""
    """Palette group; taken from the module's name when empty."""
    symbol: ClassVar[str] = ""
    """One or two glyphs for the block's face (·, +, ⊣, ℒ)."""
    formula: ClassVar[str] = ""
    """The equation in LaTeX, without dollar signs."""
    outputs: ClassVar[tuple[str, ...]] = ("out",)
    """Names of the output ports."""
    inputs: ClassVar[tuple[InputPort, ...]] = ()
    """The input ports, read off ``forward``."""
    head: ClassVar[bool] = False
    """Whether the block marks a loss: backward starts here without an output gradient."""
    surrogate: ClassVar[bool] = False
    """Whether the gradient is deliberately not the derivative (straight-through, reversal, …)."""
    trees: ClassVar[TreeUse] = "refused"
    """How the block treats a tree (see blocks.trees) at one of its inputs."""
    plugin: ClassVar[str] = ""
    """The plug-in that the class comes from; empty for the library."""
    ownable: ClassVar[Mapping[str, Source]] = {}
    """The inputs that may own a variable, with the variable that a new block gets there.

    The shape of such a variable is what ``infer`` finds for the input."""
    bypassable: ClassVar[bool] = True
    """Whether a block with inputs may be bypassed; a loss never is."""
    through: ClassVar[str] = ""
    """The input that goes through a bypassed block; empty for the first that is wired."""
    abstract: ClassVar[bool] = False
    """Whether this is a base class and not a block; not inherited by subclasses."""

    literals: Mapping[str, PortLiteral] = Field(default_factory=dict, repr=False)
    """Values of unwired ports in place of their defaults, by port name."""
    owned: SkipJsonSchema[Mapping[str, Any]] = Field(default_factory=dict, repr=False)
    """Variables inside this block that drive unwired ports, by port name (a Source each)."""
    bypassed: SkipJsonSchema[bool] = Field(default=False, strict=True, repr=False)
    """Whether the block computes nothing, and one of its inputs goes through to its outputs."""
    written: SkipJsonSchema[str] = Field(default="", max_length=MAX_WRITTEN, repr=False)
    """Where the program that it was imported from has it, ``model.py:42``; empty for others."""

    def __init__(self, /, **values: object) -> None:
        """Set parameters and literals; raises ParameterError."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            known = [*self.parameter_names(), *(port.name for port in self.inputs)]
            raise parameter_error(self.type_name(), known, error.errors()) from None

    def forward(self, xp: Any, *args: Any) -> Any:
        """The arithmetic of the block; see the class."""
        raise NotImplementedError  # a class without its own forward is rejected

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        """Shapes of unknown inputs (value None) that follow from the known shapes.

        ``inputs`` has every connected input port; ``output`` is the shape that the readers of the
        first output need, if known. Used to infer the open shapes of variables. The result may be
        incomplete; the default infers nothing.
        """
        return {}

    def input_ports(self) -> tuple[InputPort, ...]:
        """This block's input ports; by default those of its class."""
        return self.inputs

    def output_names(self) -> tuple[str, ...]:
        """Names of this block's output ports; by default those of its class."""
        return self.outputs

    def label(self) -> str:
        """The text on the face under the name; by default the symbol."""
        return self.symbol

    @classmethod
    def port(cls, name: str) -> InputPort | None:
        """The input port called ``name`` (``terms.3`` finds ``*terms``), or None."""
        base, index = split_term(name)
        for port in cls.inputs:
            if port.name == base and (index.isdigit() if port.variadic else not index):
                return port
        return None

    @classmethod
    def type_name(cls) -> str:
        """The block's type in files and the palette: the class's name."""
        return cls.__name__

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Names of the parameters, in order of definition."""
        return tuple(name for name in cls.model_fields if name not in RESERVED)

    @classmethod
    def parameters(cls) -> dict[str, FieldInfo]:
        """The pydantic fields that are parameters, by name, in order of definition.

        Their descriptions are the docstrings below them, read from the source on the first
        call: reading them all at import would take longer than everything else.
        """
        fields = {name: cls.model_fields[name] for name in cls.parameter_names()}
        if any(field.description is None for field in fields.values()):
            texts: dict[str, str] = {}
            for base in reversed(cls.__mro__[: cls.__mro__.index(Block)]):
                texts |= field_docstrings(base)
            for name, field in fields.items():
                field.description = field.description or texts.get(name, "")
        return fields

    @classmethod
    def summary(cls) -> str:
        """First line of the docstring, without marks of code."""
        return docstring(cls).split("\n", 1)[0].replace("``", "")

    @classmethod
    def from_record(cls, record: Mapping[str, object]) -> Self:
        """The block that a file's record (without ``type``) describes; raises ParameterError.

        Without parameters, all blocks of a class of the library are one: most blocks of large
        diagrams are such, and no block ever changes.
        """
        if not record and cls.__module__.startswith("gradwire.blocks."):
            plain: Self = _plain(cls)
            return plain
        return cls(**record)

    def to_record(self) -> dict[str, Any]:
        """Parameters that differ from their defaults, then literals and own variables, as a file
        stores them.
        """
        around = {"literals", "owned", "bypassed", "written"}
        record = self.model_dump(mode="json", exclude=around, exclude_defaults=True)
        record |= {"bypassed": True} if self.bypassed else {}
        record |= {"written": self.written} if self.written else {}
        record |= {name: literal.to_json() for name, literal in self.literals.items()}
        return record | {name: {_OWN: source.to_record()} for name, source in self.owned.items()}

    def with_parameters(self, **changes: object) -> Self:
        """A copy with parameters, literals or own variables changed, validated; None removes a
        literal or an own variable.
        """
        record = self.to_record()
        for name, value in changes.items():
            if value is None and self.port(name) is not None:
                record.pop(name, None)
            else:
                record[name] = value
        return type(self).from_record(record)

    @classmethod
    def new(cls) -> Self:
        """The block as it is placed: with a variable for each input that may own one."""
        return cls.from_record(dict(cls.ownable))

    @classmethod
    def can_be_bypassed(cls) -> bool:
        """Whether an input can go through to the outputs."""
        return cls.bypassable and bool(cls.inputs) and bool(cls.outputs) and not cls.head

    def is_given(self, port: str) -> bool:
        """Whether an input has a literal or a variable of its own."""
        return port in self.literals or port in self.owned

    @model_validator(mode="before")
    @classmethod
    def _sort_out_ports(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        fields = {k: v for k, v in data.items() if k in cls.model_fields}
        if fields.get("bypassed") and not cls.can_be_bypassed():
            raise ValueError(f"{cls.type_name()} can't be bypassed")
        literals, owned = dict(fields.pop("literals", {})), dict(fields.pop("owned", {}))
        for name, value in data.items():
            if name in cls.model_fields:
                continue
            if cls.port(name) is None:
                fields[name] = value
                continue
            if isinstance(value, Source) or (isinstance(value, Mapping) and set(value) == {_OWN}):
                owned[name] = cls._own_variable(name, value)
                continue
            try:
                literals[name] = PortLiteral(value)
            except (ValueError, TypeError) as error:
                raise ValueError(f"literal for input {name!r}: {error}") from None
        given = {"literals": MappingProxyType(literals)} if literals else {}
        return fields | given | ({"owned": MappingProxyType(owned)} if owned else {})

    @field_validator("written")
    @classmethod
    def _is_one_line(cls, text: str) -> str:
        if text and not text.isprintable():
            raise ValueError("the place in a program is one line of printable characters")
        return text

    @classmethod
    def _own_variable(cls, port: str, value: Source | Mapping[str, Any]) -> Source:
        """The variable of an input, made from its record; raises ValueError."""
        if port not in cls.ownable:
            raise ValueError(f"input {port!r} can't own a variable")
        kind = type(cls.ownable[port])
        if isinstance(value, kind):
            return value
        if isinstance(value, Source) or not isinstance(value[_OWN], Mapping):
            raise ValueError(f"variable of input {port!r}: this is not a {kind.type_name()}")
        try:
            return kind.from_record(value[_OWN])
        except BlockError as error:
            raise ValueError(f"variable of input {port!r}: {error}") from None

    def __init_subclass__(cls, **kwargs: Unpack[ConfigDict]) -> None:
        super().__init_subclass__(**kwargs)
        forget_class_vars(cls)  # of its bases, before pydantic evaluates them

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        forget_class_vars(cls)
        if "abstract" not in cls.__dict__:
            cls.abstract = False
        if not cls.abstract:
            if not cls.family:
                cls.family = cls.__module__.rpartition(".")[2]
            cls.inputs = _ports_of(cls)
            _check(cls)
        if not cls.__module__.startswith("gradwire."):  # which are built on first use
            cls.model_rebuild(raise_errors=False, _types_namespace={})


@cache
def _plain(cls: type[B]) -> B:
    """The block of a class that has no parameters given."""
    return cls()


forget_class_vars(Block)


class Source(Block):
    """A block that provides data: variable, constant or input. It has no arithmetic.

    The engine traces it as a leaf, so that new numbers need no new trace.
    """

    abstract: ClassVar[bool] = True
    kind: ClassVar[Literal["variable", "constant", "input"]]

    @property
    def open_shape(self) -> OpenShape | None:
        """The shape as far as it is given; None, or None for a length, is to be inferred."""
        raise NotImplementedError  # each source has its own

    @property
    def leaf_dtype(self) -> str:
        """Name of the dtype of the leaf."""
        raise NotImplementedError  # each source has its own

    @property
    def wants_gradient(self) -> bool:
        """Whether this is a variable that training may update."""
        return False

    def data(self, shape: Shape, path: str = "") -> npt.NDArray[np.generic] | None:
        """The initial value, of ``shape`` and ``leaf_dtype``; None if it must be fed.

        ``path`` is the block's path in the diagram (``encoder/W1``). Numbers drawn without a seed
        depend on it, so that no two variables start out equal.
        """
        raise NotImplementedError  # each source has its own

    def forward(self, xp: Any) -> Any:
        """The leaf that the engine fills."""
        return xp.leaf(self)


class Opaque(Block):
    """A block whose type is not installed: keeps its record and computes nothing."""

    abstract: ClassVar[bool] = True
    original_type: str = ""
    record: Mapping[str, Any] = Field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """The record as it was read."""
        return dict(self.record)


def _ports_of(cls: type[Block]) -> tuple[InputPort, ...]:
    def refuse(what: str) -> BlockDefinitionError:
        return BlockDefinitionError(
            f"{cls.__name__}.forward {what}.",
            expected="forward(self, xp, a, b=1.0, *more)",
            got=f"forward{inspect.signature(cls.forward)}",
        )

    if cls.forward is Block.forward:
        raise BlockDefinitionError(f"{cls.__name__} has no forward.")
    arguments = list(inspect.signature(cls.forward).parameters.values())
    if len(arguments) < 2 or arguments[1].name != "xp":
        raise refuse("does not begin with self and xp")
    ports = []
    for argument in arguments[2:]:
        if argument.kind in (argument.KEYWORD_ONLY, argument.VAR_KEYWORD):
            raise refuse(f"has a keyword argument {argument.name!r}, which can't be a port")
        if argument.name in cls.model_fields or argument.name in RESERVED:
            raise refuse(f"has a port {argument.name!r} with the name of a parameter")
        default = REQUIRED if argument.default is argument.empty else argument.default
        if not (default is REQUIRED or isinstance(default, bool | int | float | None)):
            raise refuse(f"gives port {argument.name!r} a default that is no scalar")
        ports.append(InputPort(argument.name, default, argument.kind is argument.VAR_POSITIONAL))
    return tuple(ports)


def _check(cls: type[Block]) -> None:
    outputs = cls.outputs
    if not (isinstance(outputs, tuple) and all(isinstance(name, str) for name in outputs)):
        raise BlockDefinitionError(f"{cls.__name__}.outputs must be a tuple of names.")
    names = [*outputs]
    if len(set(names)) != len(names) or not all(re.fullmatch(r"[A-Za-z_]\w*", n) for n in names):
        raise BlockDefinitionError(f"{cls.__name__}.outputs {outputs} are not distinct names.")
    if sys.flags.optimize < 2 and not (cls.__doc__ or "").strip():  # -OO drops them
        raise BlockDefinitionError(f"{cls.__name__} has no docstring; the palette shows it.")
    for name in cls.ownable:
        port = cls.port(name)
        if port is None or port.variadic:
            raise BlockDefinitionError(f"{cls.__name__}.ownable: {name!r} is no single input.")
    for name in cls.parameter_names():
        if cls.model_fields[name].is_required():
            raise BlockDefinitionError(
                f"Parameter {name!r} of {cls.__name__} has no default.",
                next_step="Give it one, so that the block can be placed and edited later.",
            )
