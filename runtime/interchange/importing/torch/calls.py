"""The modules that a program is in, as paths of pages."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.scopes import ModuleCall

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.scopes import Part


class ModuleCalls:
    """Numbers the calls of each module within the call of the module around it."""

    def __init__(self) -> None:
        self._seen: dict[tuple[tuple[Part, ...], str], list[Hashable]] = {}

    def path(self, stack: Iterable[tuple[str, Hashable]]) -> tuple[Part, ...]:
        """The path of a call: the modules around it with their dotted names, outermost first.

        Each has a tag that its calls don't share. Modules without a name are the model itself.
        """
        path: tuple[Part, ...] = ()
        outer = ""
        for name, tag in stack:
            own = name.removeprefix(outer + ".") if outer else name
            if not own:
                continue
            tags = self._seen.setdefault((path, own), [])
            if tag not in tags:
                tags.append(tag)
            *containers, last = own.split(".")
            path = (*path, *containers, ModuleCall(last, tags.index(tag) + 1))
            outer = name
        return path
