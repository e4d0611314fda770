"""Paths to blocks, ports and wires of a running diagram. No other module writes or parses them.

``enc/mul1``
    an :class:`InstancePath`: the page blocks that contain a block, outermost first, and its name
``enc/mul1.out``, ``pack1.out:encoder/w``
    a :class:`PortPath`: a port of an instance, or one leaf of the tree that the port carries
``enc/mul1.a``, ``mul1.a:encoder/w``
    a :class:`WirePath`: the wire into an input, or one leaf of the tree that the wire carries

A path is a string: it hashes, sorts and serialises as its text, so users can look it up in a
mapping by what they see on the screen. Constructors trust their argument; ``parse`` validates it.
Names contain no ``.``, ``/`` or ``:`` (see ``NAME_RULE``); a leaf, which may contain all three,
comes last.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from gradwire.blocks.errors import Location
from gradwire.blocks.paths import Path, parse_path, path_text

_OUT = "out"
"""The default port of a path that names a block: the output of blocks with one output."""


class PortName(NamedTuple):
    """``block.port`` within one page: ``mul1.a``, ``sum1.terms.2``."""

    block: str
    port: str

    def __str__(self) -> str:
        return f"{self.block}.{self.port}"

    @classmethod
    def parse(cls, text: str) -> PortName:
        """Split at the first dot; block names contain none. Raises ValueError without a dot."""
        block, dot, port = text.partition(".")
        if not (block and dot and port):
            raise ValueError(f"{text!r} is not block.port")
        return cls(block, port)


class _Path(str):
    """Operations that all paths have."""

    __slots__ = ()

    def is_inside(self, use: InstancePath) -> bool:
        """Whether it is anywhere below ``use``; everything is below ROOT."""
        return not use or self.startswith(use + "/")

    def relative_to(self, use: InstancePath) -> Self:
        """The path relative to ``use``; raises ValueError unless it is inside."""
        if not self.is_inside(use):
            raise ValueError(f"{str(self)!r} is not inside {str(use)!r}")
        return type(self)(self[len(use) + 1 :]) if use else self

    def within(self, use: InstancePath) -> Self:
        """The absolute path of this path, which is relative to ``use``."""
        return type(self)(use + "/" + self if use and self else use or self)

    def in_step(self, scan: InstancePath, number: int) -> Self:
        """The same in another step of a Scan; itself unless it is in a step."""
        _, slash, rest = self[len(scan) + 1 :].partition("/")
        if not (slash and self.is_inside(scan)):
            return self
        return type(self)(f"{scan}/{number}/{rest}")

    def block_below(self, use: InstancePath) -> str | None:
        """Name of the block on the page used at ``use`` that contains it; None if it is outside."""
        if not self.is_inside(use):
            return None
        below = self[len(use) + 1 :] if use else self
        return below.partition(".")[0].partition("/")[0]


class InstancePath(_Path):
    """``enc/mul1``: an instance of a block; it has one for each use of its page."""

    __slots__ = ()

    @classmethod
    def of(cls, *names: str) -> InstancePath:
        """The path with these names: page blocks from the outside in, then the block."""
        return cls("/".join(names))

    @classmethod
    def parse(cls, text: str) -> InstancePath:
        """Parse a path; raises ValueError if the text is not valid."""
        if text and ("." in text or ":" in text or not all(text.split("/"))):
            raise ValueError(f"{text!r} is not the path of a block, such as enc/mul1")
        return cls(text)

    @classmethod
    def unused(cls, page: str) -> InstancePath:
        """The pseudo-use of a page that is shown without being used; no instance is inside it."""
        return cls(page + ":")

    @property
    def names(self) -> tuple[str, ...]:
        """The page blocks from the outside in, then the block; empty for ROOT."""
        return tuple(self.split("/")) if self else ()

    @property
    def name(self) -> str:
        """The name in its page: ``mul1``."""
        return self.rpartition("/")[2]

    @property
    def use(self) -> InstancePath:
        """The use of the page that contains it: ``enc``; ROOT for a block of the main page."""
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
        """``pack1:encoder/w``: the block and a leaf of its output; just the block for no leaf."""
        return self + ":" + leaf if leaf else self

    def port_inside(self, name: PortName) -> PortPath:
        """A port in the page used here."""
        within = self + "/" + name.block if self else name.block
        return PortPath(within + "." + name.port)

    def wire_inside(self, target: PortName) -> WirePath:
        """The wire into an input in the page used here."""
        return (self / target.block).wire(target.port)


ROOT = InstancePath()
"""The instance path of the main page."""


class _PortOrWire(_Path):
    """``block.port``, or ``block.port:leaf``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a path and normalise its leaf; raises ValueError if the text is not valid."""
        whole, leaf = split_leaf(text)
        block, _, port = whole.partition(".")
        if not (block and port) or "/" in port or text.endswith(":"):
            raise ValueError(f"{text!r} is not the path of a port, such as enc/mul1.a")
        found = cls(InstancePath.parse(block) + "." + port)
        return found.leaf_at(parse_path(leaf)) if leaf else found

    @property
    def block(self) -> InstancePath:
        """The instance that has the port, or that the wire enters."""
        return InstancePath(self.partition(".")[0])

    @property
    def port(self) -> str:
        """The name of the port in its block: ``a``, ``terms.2``."""
        return self.partition(":")[0].partition(".")[2]

    @property
    def leaf(self) -> str:
        """The path of the leaf as text, ``encoder/w``; empty for the whole port."""
        return self.partition(":")[2]

    @property
    def whole(self) -> Self:
        """The path without the leaf."""
        return type(self)(self.partition(":")[0])

    @property
    def name(self) -> PortName:
        """The name of the port in its page."""
        return PortName(self.block.name, self.port)

    @property
    def within_block(self) -> str:
        """The path without the block: ``a``, ``a:encoder/w``."""
        return self.partition(".")[2]

    def location(self) -> Location:
        """The location for messages."""
        return Location(block=self.block, port=self.within_block)

    def leaf_at(self, path: Path) -> Self:
        """The leaf at a path of the tree on this port or wire."""
        return self.with_leaf(path_text(path))

    def with_leaf(self, leaf: str) -> Self:
        """The leaf with this text; the whole port or wire if it is empty."""
        return type(self)(self + ":" + leaf) if leaf else self


class PortPath(_PortOrWire):
    """``enc/mul1.out``, ``pack1.out:encoder/w``: a port of an instance, or a leaf of its tree."""

    __slots__ = ()

    @classmethod
    def named(cls, name: str) -> PortPath:
        """The port of a name that may omit ``.out``, such as ``loss``."""
        whole, leaf = split_leaf(name)
        if "." in whole:
            return cls(name)
        return cls(f"{whole}.{_OUT}:{leaf}" if leaf else f"{whole}.{_OUT}")

    @property
    def short(self) -> str:
        """The shortest name that ``named`` accepts: ``loss`` for ``loss.out``."""
        return self if ":" in self else self.removesuffix("." + _OUT)


class WirePath(_PortOrWire):
    """``enc/mul1.a``, ``mul1.a:encoder/w``: the wire into an input, or a leaf of its tree."""

    __slots__ = ()

    @property
    def target(self) -> PortPath:
        """The input that it drives, or the leaf of that input."""
        return PortPath(self)


def path_parts(text: str) -> list[str]:
    """The parts of a path, or of a pattern for paths, between its slashes."""
    return text.split("/")


def split_leaf(text: str) -> tuple[str, str]:
    """Split a path into the part before the leaf and the leaf, which is empty if absent."""
    whole, _, leaf = text.partition(":")
    return whole, leaf
