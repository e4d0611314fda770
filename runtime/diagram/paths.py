"""Paths to blocks, ports and wires of a diagram as it runs. No other module writes or parses them.

``enc/mul1``
    an :class:`InstancePath`: the page blocks that lead to a block, outermost first, and its name
``enc/mul1.out``, ``pack1.out:encoder/w``
    a :class:`PortPath`: a port of an instance, or one leaf of the tree that the port carries
``enc/mul1.a``, ``mul1.a:encoder/w``
    a :class:`WirePath`: the wire into that input, or one leaf of the tree that it carries

A path is its text: it has the hash, the order and the JSON of a plain string, so that users find
it in a mapping by what they read on the screen. A class applied to text trusts it; ``parse``
checks it. Names have no ``.``, ``/`` or ``:`` (see ``NAME_RULE``); the text of a leaf, which may
contain all three, comes last.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from blocks.errors import Location
from blocks.paths import Path, parse_path, path_text

_OUT = "out"
"""Port that a path means when it names a block: that of blocks with one output."""


class PortName(NamedTuple):
    """``block.port``, both in one page: ``mul1.a``, ``sum1.terms.2``."""

    block: str
    port: str

    def __str__(self) -> str:
        return f"{self.block}.{self.port}"

    @classmethod
    def parse(cls, text: str) -> PortName:
        """Split at the first dot, as names of blocks have none; raises ValueError without one."""
        block, dot, port = text.partition(".")
        if not (block and dot and port):
            raise ValueError(f"{text!r} is not block.port")
        return cls(block, port)


class _Path(str):
    """What paths of all kinds have in common."""

    __slots__ = ()

    def is_inside(self, use: InstancePath) -> bool:
        """Whether it is in the page used at ``use``, or in a page used there; all is in ROOT."""
        return not use or self.startswith(use + "/")

    def relative_to(self, use: InstancePath) -> Self:
        """The path as seen from the page used at ``use``; raises ValueError for one outside."""
        if not self.is_inside(use):
            raise ValueError(f"{str(self)!r} is not inside {str(use)!r}")
        return type(self)(self[len(use) + 1 :]) if use else self

    def within(self, use: InstancePath) -> Self:
        """The path that is seen as this one from the page used at ``use``."""
        return type(self)(use + "/" + self if use and self else use or self)

    def block_below(self, use: InstancePath) -> str | None:
        """The block of the page used at ``use`` that this belongs to; None for a path outside."""
        if not self.is_inside(use):
            return None
        below = self[len(use) + 1 :] if use else self
        return below.partition(".")[0].partition("/")[0]


class InstancePath(_Path):
    """``enc/mul1``: a block as it runs, once for every use of its page."""

    __slots__ = ()

    @classmethod
    def of(cls, *names: str) -> InstancePath:
        """The path of those names: page blocks from outside in, then the block."""
        return cls("/".join(names))

    @classmethod
    def parse(cls, text: str) -> InstancePath:
        """The path that a text names; raises ValueError for one that names none."""
        if text and ("." in text or ":" in text or not all(text.split("/"))):
            raise ValueError(f"{text!r} is not the path of a block, such as enc/mul1")
        return cls(text)

    @classmethod
    def apart(cls, page: str) -> InstancePath:
        """A place for a page that is looked at by itself; nothing that runs is inside it."""
        return cls(page + ":")

    @property
    def names(self) -> tuple[str, ...]:
        """The page blocks from outside in, then the block; none for ROOT."""
        return tuple(self.split("/")) if self else ()

    @property
    def name(self) -> str:
        """The name in its page: ``mul1``."""
        return self.rpartition("/")[2]

    @property
    def use(self) -> InstancePath:
        """The use of the page that it is in: ``enc``; ROOT for a block of the main page."""
        return InstancePath(self.rpartition("/")[0])

    def __truediv__(self, name: str) -> InstancePath:
        """The block ``name`` of the page used here."""
        return InstancePath(self + "/" + name if self else name)

    def port(self, name: str) -> PortPath:
        """A port of this block."""
        return PortPath(self + "." + name)

    def wire(self, port: str) -> WirePath:
        """The wire into an input of this block."""
        return WirePath(self + "." + port)

    def with_leaf(self, leaf: str) -> str:
        """``pack1:encoder/w``: the block and a leaf of its output; the block for no leaf."""
        return self + ":" + leaf if leaf else self

    def port_inside(self, name: PortName) -> PortPath:
        """A port in the page used here."""
        within = self + "/" + name.block if self else name.block
        return PortPath(within + "." + name.port)

    def wire_inside(self, target: PortName) -> WirePath:
        """The wire into an input in the page used here."""
        return (self / target.block).wire(target.port)


ROOT = InstancePath()
"""The main page, which no block uses."""


class _PortOrWire(_Path):
    """``block.port``, or ``block.port:leaf``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """The path that a text names, its leaf written in one way; raises ValueError for none."""
        whole, leaf = split_leaf(text)
        block, _, port = whole.partition(".")
        if not (block and port) or "/" in port or text.endswith(":"):
            raise ValueError(f"{text!r} is not the path of a port, such as enc/mul1.a")
        found = cls(InstancePath.parse(block) + "." + port)
        return found.leaf_at(parse_path(leaf)) if leaf else found

    @property
    def block(self) -> InstancePath:
        """The instance whose port it is, or that the wire leads to."""
        return InstancePath(self.partition(".")[0])

    @property
    def port(self) -> str:
        """The name of the port in its block: ``a``, ``terms.2``."""
        return self.partition(":")[0].partition(".")[2]

    @property
    def leaf(self) -> str:
        """The path of the leaf as it is written, ``encoder/w``; empty for the whole port."""
        return self.partition(":")[2]

    @property
    def whole(self) -> Self:
        """The port or wire that this is, or is a leaf of."""
        return type(self)(self.partition(":")[0])

    @property
    def name(self) -> PortName:
        """The port's name in its page."""
        return PortName(self.block.name, self.port)

    @property
    def within_block(self) -> str:
        """The port and the leaf, without the block: ``a``, ``a:encoder/w``."""
        return self.partition(".")[2]

    def location(self) -> Location:
        """Where it is, for messages."""
        return Location(block=self.block, port=self.within_block)

    def leaf_at(self, path: Path) -> Self:
        """The leaf at a path of the tree that is carried here."""
        return self.with_leaf(path_text(path))

    def with_leaf(self, leaf: str) -> Self:
        """The leaf at a written path; the whole port or wire where that is empty."""
        return type(self)(self + ":" + leaf) if leaf else self


class PortPath(_PortOrWire):
    """``enc/mul1.out``, ``pack1.out:encoder/w``: a port of an instance, or a leaf of its tree."""

    __slots__ = ()

    @classmethod
    def named(cls, name: str) -> PortPath:
        """The port of a text that may leave ``.out`` away, as ``loss`` does."""
        whole, leaf = split_leaf(name)
        if "." in whole:
            return cls(name)
        return cls(f"{whole}.{_OUT}:{leaf}" if leaf else f"{whole}.{_OUT}")

    @property
    def short(self) -> str:
        """As ``named`` takes it, without ``.out``: ``loss`` for ``loss.out``."""
        return self if ":" in self else self.removesuffix("." + _OUT)


class WirePath(_PortOrWire):
    """``enc/mul1.a``, ``mul1.a:encoder/w``: the wire into an input, or a leaf of its tree."""

    __slots__ = ()

    @property
    def target(self) -> PortPath:
        """The input that it drives, or the leaf of it."""
        return PortPath(self)


def path_parts(text: str) -> list[str]:
    """What is between the slashes of a path, or of a pattern for paths."""
    return text.split("/")


def split_leaf(text: str) -> tuple[str, str]:
    """What is before the path of a leaf, and that path, empty where none is written."""
    whole, _, leaf = text.partition(":")
    return whole, leaf
