"""Checks that the parameters of a Scan name ports of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gradwire.blocks.errors import Location
    from gradwire.blocks.library.pages import Scan
    from gradwire.runtime.diagram.model import Ports


def scan_problems(scan: Scan, ports: Ports, at: Location) -> Iterator[Diagnostic]:
    """What prevents a Scan from running the page with these ports; ``at`` is where the Scan is."""
    for name, output in scan.carry.items():
        yield from _unknown(name, "input", "carry", ports.inputs, at)
        yield from _unknown(output, "output", "carry", ports.outputs, at)
    for name in scan.over:
        yield from _unknown(name, "input", "over", ports.inputs, at)
    if scan.condition:
        yield from _unknown(scan.condition, "output", "condition", ports.outputs, at)
    for name in (*ports.inputs, *ports.outputs):
        if name.isascii() and name.isdecimal():
            yield Diagnostic(
                "error",
                at,
                f"Page {scan.page!r} has a port {name!r}, and a Scan names its steps by number.",
                next_step="Rename the port.",
                code="step-name",
            )


def _unknown(
    name: str, kind: str, parameter: str, known: Collection[str], at: Location
) -> Iterator[Diagnostic]:
    if name in known:
        return
    yield Diagnostic(
        "error",
        at,
        f"{parameter} names {name!r}, which is no {kind} of the page.",
        expected="one of " + ", ".join(known) if known else f"no {kind} at all",
        next_step=did_you_mean(name, known) or f"Set {parameter} to ports of the page.",
        code="unknown-port",
    )
