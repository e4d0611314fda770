"""Finds blocks: the library of this package, and plug-ins.

A plug-in is an entry point of the group ``gradwire.blocks`` that names a Block class, or a module
all of whose Block classes are added.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType, ModuleType

from blocks import library
from blocks.arguments import explained
from blocks.block import Block
from blocks.errors import UnknownBlockError

GROUP = "gradwire.blocks"


@dataclass
class Registry:
    """Block classes by type name; ``problems`` explains what could not be loaded."""

    _classes: dict[str, type[Block]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, cls: type[Block], origin: str) -> None:
        """Add a class; a name that is already in use is a problem, not a replacement."""
        other = self._classes.setdefault(cls.type_name(), cls)
        if other is not cls:
            self.problems.append(
                f"{origin}: a block named {cls.type_name()} exists already "
                f"(in {other.__module__}); this one is left out."
            )

    def add_module(self, module: ModuleType) -> None:
        """Add the concrete Block classes that the module or its submodules define, in order.

        Classes that it imports from elsewhere are not added.
        """
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Block) and not item.abstract:
                if f"{item.__module__}.".startswith(f"{module.__name__}."):
                    self.add(item, module.__name__)

    def load_plugins(self) -> None:
        """Load the plug-ins; one that fails is a problem and does not affect the others."""
        for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
            try:
                found = entry.load()
            except Exception as error:  # a plug-in may fail in any way; the rest must work
                self.problems.append(f"Plug-in {entry.name!r} ({entry.value}) failed: {error!r}")
                continue
            if isinstance(found, ModuleType):
                self.add_module(found)
            elif isinstance(found, type) and issubclass(found, Block) and not found.abstract:
                self.add(found, entry.value)
            else:
                self.problems.append(
                    f"Plug-in {entry.name!r} ({entry.value}) is neither a block nor a module."
                )

    @property
    def classes(self) -> Mapping[str, type[Block]]:
        """All block classes by type name, library first, in order of definition."""
        return MappingProxyType(self._classes)

    @explained
    def get(self, name: str) -> type[Block]:
        """The class of that type name; raises UnknownBlockError with the nearest names."""
        try:
            return self._classes[name]
        except KeyError:
            near = get_close_matches(name, self._classes, n=3, cutoff=0.5)
            raise UnknownBlockError(
                f"No block of type {name!r} is installed.",
                next_step=f"Did you mean {', '.join(near)}?"
                if near
                else "Install the plug-in that brings it; `gradwire blocks` lists what is there.",
            ) from None

    def families(self) -> dict[str, list[type[Block]]]:
        """Classes by family, both in order of definition."""
        grouped: dict[str, list[type[Block]]] = {}
        for cls in self._classes.values():
            grouped.setdefault(cls.family, []).append(cls)
        return grouped


def library_modules() -> Iterator[ModuleType]:
    """The modules of ``blocks.library``, in the order its ``FAMILIES`` gives, then the rest."""
    names = {info.name for info in pkgutil.iter_modules(library.__path__)}
    for name in [*library.FAMILIES, *sorted(names - set(library.FAMILIES))]:
        yield importlib.import_module(f"{library.__name__}.{name}")


def discover() -> Registry:
    """A new registry of all blocks that are installed now."""
    found = Registry()
    for module in library_modules():
        found.add_module(module)
    found.load_plugins()
    return found


@cache
def registry() -> Registry:
    """The registry of this installation, made on the first call."""
    return discover()
