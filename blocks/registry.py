"""Finds blocks: the library of this package, and plug-ins.

A plug-in is an entry point of the group ``gradwire.blocks`` that names a Block class, or a module
all of whose Block classes are added.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache, cached_property, lru_cache, partial
from threading import RLock
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, TypeGuard

from gradwire.blocks import library
from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import UnknownBlockError
from gradwire.blocks.importing.kinds import module_of
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.plugins import IMPORT_SECONDS, PluginError, contain, guarded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from gradwire.blocks.block import Block

GROUP = "gradwire.blocks"


@dataclass
class Registry:
    """Block classes by type name.

    ``problems`` are sentences on plug-ins that could not be loaded and on methods that failed;
    ``failures`` are those on methods of a type, by its name.
    """

    _classes: dict[str, type[Block]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def add(self, cls: type[Block], origin: str) -> None:
        """Add a class of a plug-in; a name in use is a problem, not a replacement.

        Its methods are guarded from then on: see ``gradwire.blocks.plugins``.
        """
        name = cls.type_name()
        if self._add(cls, origin) and "plugin" not in vars(cls):
            contain(cls, origin, partial(self._report, name))

    def add_module(self, module: ModuleType, origin: str = "") -> None:
        """Add the concrete Block classes that the module or its submodules define, in order.

        Classes that it imports from elsewhere are not added. Without an ``origin`` the module is
        one of the library.
        """
        for item in vars(module).values():
            if _is_block(item) and not item.abstract:
                if f"{item.__module__}.".startswith(f"{module.__name__}."):
                    if origin:
                        self.add(item, origin)
                    else:
                        self._add(item, module.__name__)

    def add_plugin(self, origin: str, found: object) -> None:
        """Add the blocks of what a plug-in names; if it failed, the exception is a problem, and
        does not affect the others.
        """
        try:
            if isinstance(found, Exception):
                raise found
            guarded(partial(self._add_found, found, origin), IMPORT_SECONDS)
        except Exception as error:  # a plug-in may fail in any way; the rest must work
            why = error.what if isinstance(error, PluginError) else repr(error)
            why = why.removesuffix(".")
            self._problem(f"{origin} failed: {why}. Its blocks are left out.")

    def _add_found(self, found: object, origin: str) -> None:
        if isinstance(found, ModuleType):
            self.add_module(found, origin)
        elif _is_block(found) and not found.abstract:
            self.add(found, origin)
        else:
            self._problem(f"{origin} is neither a block nor a module.")

    def _add(self, cls: type[Block], origin: str) -> bool:
        other = self._classes.setdefault(cls.type_name(), cls)
        if other is not cls:
            self._problem(
                f"{origin}: a block named {cls.type_name()} exists already "
                f"(in {other.__module__}); this one is left out."
            )
        return other is cls

    def _problem(self, sentence: str) -> None:
        self.problems.append(f"{sentence[0].upper()}{sentence[1:]}")

    def _report(self, name: str, sentence: str) -> None:
        self._problem(sentence)
        self.failures.setdefault(name, []).append(self.problems[-1])

    @property
    def classes(self) -> Mapping[str, type[Block]]:
        """All block classes by type name, library first, in order of definition."""
        return MappingProxyType(self._classes)

    def find(self, name: str) -> type[Block] | None:
        """The class of that type name, or None."""
        return self._classes.get(name)

    @explained
    def get(self, name: str) -> type[Block]:
        """The class of that type name; raises UnknownBlockError with the nearest names."""
        if (cls := self.find(name)) is not None:
            return cls
        step = did_you_mean(name, self._classes, cutoff=0.5)
        step = step or "Install the plug-in that brings it; `gradwire blocks` lists what is there."
        if self.left_out:
            step += " Some plug-ins could not be loaded: `gradwire blocks` says which, and why."
        raise UnknownBlockError(f"No block of type {name!r} is installed.", next_step=step)

    @property
    def left_out(self) -> list[str]:
        """The problems because of which blocks are missing."""
        failed = {sentence for sentences in self.failures.values() for sentence in sentences}
        return [problem for problem in self.problems if problem not in failed]

    def names(self) -> dict[str, list[str]]:
        """Names of types by family, both in order of definition."""
        found = self.families().items()
        return {family: [cls.type_name() for cls in classes] for family, classes in found}

    def families(self) -> dict[str, list[type[Block]]]:
        """Classes by family, both in order of definition."""
        grouped: dict[str, list[type[Block]]] = {}
        for cls in self._classes.values():
            grouped.setdefault(cls.family, []).append(cls)
        return grouped


def _entries() -> EntryPoints:
    """What plug-ins of this installation name."""
    from importlib.metadata import entry_points  # is slow to import

    return entry_points(group=GROUP)


def _origin(entry: EntryPoint) -> str:
    """What a plug-in is called: ``plug-in 'cube' of my-package 1.0 (my_package.cube:Cube)``."""
    made = f" of {entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    return f"plug-in {entry.name!r}{made} ({entry.value})"


def library_modules() -> Iterator[ModuleType]:
    """The modules of ``gradwire.blocks.library``, in the order its ``MODULES`` gives, then the
    rest.
    """
    start = f"{library.__name__}."
    found = pkgutil.walk_packages(library.__path__, start)
    names = {info.name.removeprefix(start) for info in found if not info.ispkg}
    for name in [*library.MODULES, *sorted(names - set(library.MODULES))]:
        yield _library_module(name)


@cache
def _library_module(name: str) -> ModuleType:
    return importlib.import_module(f"{library.__name__}.{name}")


def discover() -> Registry:
    """A new registry of all blocks that are installed now."""
    return _registry_of(*_imported())


def _imported() -> tuple[list[ModuleType], list[tuple[str, object]]]:
    """The modules of the library, and of each plug-in how it is called and what it names, or the
    exception if it failed.
    """
    modules, plugins = [*library_modules()], list[tuple[str, object]]()
    for entry in sorted(_entries(), key=lambda e: (e.name, e.value)):
        try:
            plugins.append((_origin(entry), guarded(entry.load, IMPORT_SECONDS)))
        except Exception as error:  # a plug-in may fail in any way; the rest must work
            plugins.append((_origin(entry), error))
    return modules, plugins


def _registry_of(modules: Iterable[ModuleType], plugins: Iterable[tuple[str, object]]) -> Registry:
    found = Registry()
    for module in modules:
        found.add_module(module)
    for origin, named in plugins:
        found.add_plugin(origin, named)
    return found


class _Installed(Registry):
    """The registry of this installation, which is discovered when more is wanted than classes of
    the library by their names: most runs need few modules of it, and no plug-in.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __getattr__(self, name: str) -> object:
        """Discover what is not there yet."""
        if name not in Registry.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        # Without the lock: a plug-in that another thread imports may itself ask for the registry.
        found = _imported()
        with self._lock:
            if name not in vars(self):
                vars(self).update(vars(_registry_of(*found)))
        return vars(self)[name]

    @cached_property
    def _has_plugins(self) -> bool:
        from importlib.metadata import distributions  # is slow to import

        # Only what names the group is worth parsing.
        return any(GROUP in (each.read_text("entry_points.txt") or "") for each in distributions())

    @property
    def _is_library(self) -> bool:
        """Whether there is nothing but what the index of the library tells."""
        return "_classes" not in vars(self) and not self._has_plugins

    @property
    def left_out(self) -> list[str]:
        return [] if self._is_library else super().left_out

    def names(self) -> dict[str, list[str]]:
        if not self._is_library:
            return super().names()
        found: dict[str, list[str]] = {}
        for module, names in library.MODULES.items():
            family = library.FAMILIES.get(module, module.partition(".")[0])
            found.setdefault(family, []).extend(names.split())
        return found

    def find(self, name: str) -> type[Block] | None:
        if "_classes" not in vars(self) and (cls := _library_class(name)) is not None:
            return cls
        return super().find(name)


@lru_cache(maxsize=1024)
def _library_class(name: str) -> type[Block] | None:
    """The class of the library with that type name, or None."""
    if (module := module_of(name)) is None:
        return None
    cls = getattr(_library_module(module), name, None)
    return cls if _is_block(cls) and cls.type_name() == name else None


def _is_block(item: object) -> TypeGuard[type[Block]]:
    from gradwire.blocks.block import Block  # brings pydantic

    return isinstance(item, type) and issubclass(item, Block)


@cache
def registry() -> Registry:
    """The registry of this installation; always the same."""
    return _Installed()
