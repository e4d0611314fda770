"""Sessions, losses and wires from command-line arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gradwire.blocks import PortLiteral
from gradwire.blocks.errors import Location
from gradwire.blocks.nearest import did_you_mean, nearest
from gradwire.runtime.cli.output import UsageError
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.structure.disagreements import told
from gradwire.runtime.programs.subjects import imported_subject
from gradwire.runtime.publish.problems import Problem

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram


# ``--set NAME=VALUE``: assignments as people type them.

_WORD = re.compile(r'(?<![\w."+-])([+-]?)(nan|inf|infinity|true|false)(?![\w."])', re.IGNORECASE)
_EXAMPLE = "For example --set a=3, --set 'W=[[1, 2], [3, 4]]' or --set x=nan."


def parse_assignment(text: str) -> tuple[str, PortLiteral]:
    """``"a=[1, 2]"`` as a name and a literal; raises UsageError."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not (name and equals and value.strip()):
        raise UsageError(
            f"--set {text!r} is not NAME=VALUE.", expected="NAME=VALUE", next_step=_EXAMPLE
        )
    try:
        return name, parse_literal(value)
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"The value of --set {name} can't be read: {error}.",
            expected="a number, true, false, nan, inf, or nested lists of them",
            got=value.strip()[:80],
            next_step=_EXAMPLE,
        ) from None


def parse_literal(text: str) -> PortLiteral:
    """JSON, and also bare ``nan`` and ``inf``, ``True``, ``.5``, ``1.``; raises ValueError."""
    text = _WORD.sub(_quoted, text.strip())
    text = re.sub(r"(?<![\w.])([+-]?)\.(?=\d)", r"\g<1>0.", text)
    text = re.sub(r"(?<=\d)\.(?!\d)", ".0", text)
    text = re.sub(r"(?<![\w.])\+(?=\d)", "", text)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError("lists are nested too deeply") from None
    return PortLiteral(data)


def _quoted(match: re.Match[str]) -> str:
    sign, word = match[1], match[2].lower()
    if word in ("true", "false"):
        return sign + word
    return f'"{"-" if sign == "-" and word != "nan" else ""}{word[:3]}"'


PathT = TypeVar("PathT", PortPath, WirePath)


def open_session(
    file: Path,
    values: Sequence[str] | None = None,
    make: Callable[[Diagram], Session] = Session,
) -> tuple[Session, tuple[Problem, ...]]:
    """The session of a file, or of what a program makes (``model.py:make``), with ``--set``
    applied, and the problems of the diagram.
    """
    notices: list[str] = []
    session = make(imported_subject(file, notices.append).diagram)
    for name, literal in map(parse_assignment, values or ()):
        session.set(name, literal.array if literal.typed else literal.tensor.array)
    found = [Diagnostic("warning", Location(), text, code="older-file") for text in notices]
    found += session.diagnostics
    if session.diagram.comparison is not None:
        found += [
            Diagnostic("warning", Location(), text, code="disagrees")
            for text, _ in told(session.program)
        ]
    return session, tuple(Problem(d, str(file)) for d in found)


def has_errors(problems: Iterable[Problem]) -> bool:
    """Whether any of the problems keeps the diagram from running."""
    return any(problem.is_error for problem in problems)


def choose_losses(session: Session, names: Sequence[str] | None) -> list[PortPath]:
    """The ports meant by ``--loss``, by block or by port; the diagram's own without it."""
    if not names:
        return session.losses
    flat = session.program.flat
    outputs = {
        instance.port(output): instance.port(output)
        for instance in flat.instances.values()
        for output in instance.block.output_names()
    } | {port: flat.source(port) for port in (*flat.aliases, *session.program.ports)}
    chosen = (_one(outputs, name, "--loss", "output") for name in names)
    return [leaf for port in chosen for leaf in session.program.leaf_ports(port)]


def choose_wires(session: Session, names: Sequence[str]) -> list[WirePath]:
    """The wires meant by ``--wire``: by target, or by source for all that leave it."""
    sources = session.program.wire_sources
    chosen: dict[WirePath, None] = {}
    for name in names:
        port = session.program.flat.source(PortPath(name))
        leaving = [target for target, source in sources.items() if source == port]
        found = leaving or [_one({wire.target: wire for wire in sources}, name, "--wire", "wire")]
        for wire in found:
            chosen |= dict.fromkeys([wire, *session.program.leaf_wires(wire)])
    return list(chosen)


def choose_blocks(session: Session, names: Sequence[str]) -> list[InstancePath]:
    """The blocks and pages meant by ``--block``, by path."""
    flat = session.program.flat
    known = [*flat.instances, *(use for uses in flat.uses.values() for use in uses if use)]
    for name in names:
        if name not in known:
            raise UsageError(
                f"--block {name}: there is no such block.", next_step=did_you_mean(name, known)
            )
    return [InstancePath(name) for name in names]


def _one(known: Mapping[PortPath, PathT], name: str, option: str, what: str) -> PathT:
    """The port called ``name``, or the only one of the block called so; leaves by name only."""
    exact, whole = PortPath(name), [port for port in known if not port.leaf]
    found = [exact] if exact in known else [port for port in whole if port.block == name]
    if len(found) == 1:
        return known[found[0]]
    near = found or nearest(name, dict.fromkeys(t for port in known for t in (port.block, port)))
    raise UsageError(
        f"{option} {name}: " + ("which of its ports?" if found else f"there is no such {what}."),
        expected="one of " + ", ".join(list(known)[:20]) if known and not near else None,
        next_step=f"Did you mean {' or '.join(near)}?" if near else None,
    )
