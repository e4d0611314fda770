"""The parts that modules for all targets have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.export.code import listed, remark, string
from gradwire.runtime.interchange.export.naming import Naming, Sources

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.interchange.export.content import ExportContent
    from gradwire.runtime.interchange.export.writing import SourceWriter

_STANDARD = {
    "math.": "import math",
    "@partial": "from functools import partial",
    "Path(": "from pathlib import Path",
}
"""Imports of Python's own, each by a text that only what needs it has."""
_CALLS = re.compile(r"\b(_[A-Za-z_0-9]+)(?:\.apply)?\(")


def leaf_texts(content: ExportContent, writer: SourceWriter) -> dict[Value, str]:
    """The expression by which the outermost function reads each leaf."""
    leaves = content.program.leaves
    texts = {leaves[path].value: f"parameters[{string(path)}]" for path in content.parameters}
    return texts | data_texts(content, writer)


def data_texts(content: ExportContent, writer: SourceWriter) -> dict[Value, str]:
    """The expression by which it reads each leaf but variables."""
    leaves, texts = content.program.leaves, {}
    for path in content.inputs:
        texts[leaves[path].value] = f"inputs[{string(path)}]"
    for path, array in content.constants.items():
        value = leaves[path].value
        if writer.graph.number(value) is None:
            given = array.astype(value.dtype)
            single = writer.target.number(given) if not given.ndim else ""
            texts[value] = single or writer.stored(given, path)
    return texts


def data(content: ExportContent, writer: SourceWriter) -> str:
    """The tables of parameters and of inputs."""
    values = {path: writer.stored(array, path) for path, array in content.parameters.items()}
    trainable = listed("TRAINABLE = [", [string(path) for path in content.trainable], "]")
    return (
        f"{parameters(values)}\n"
        f"{trainable}\n{quoted('The variables that are trained; the others are frozen.')}\n\n"
        f"{inputs(content, writer)}"
    )


def parameters(values: Mapping[str, str]) -> str:
    """The table of variables."""
    about = quoted("The initial values of all variables.")
    return f"{dictionary('PARAMETERS = ', values)}\n{about}\n"


def inputs(content: ExportContent, writer: SourceWriter) -> str:
    """The table of inputs."""
    items = {
        path: "None" if array is None else writer.stored(array, path)
        for path, array in content.inputs.items()
    }
    about = quoted("What is fed, for example: one batch of data.")
    return f"{dictionary('INPUTS = ', items)}\n{about}\n"


def quoted(text: str) -> str:
    """A docstring."""
    return f'"""{text}"""'


def heading(content: ExportContent, system: str) -> str:
    """The docstring of the module."""
    title = remark(content.title) or "A diagram"
    return f'"""{title.rstrip(".")}.\n\nWritten by Gradwire for {system}.\n"""\n'


def arrays_line(file: str) -> str:
    """What loads the large arrays."""
    return f"ARRAYS = load_file(Path(__file__).with_name({string(file)}))\n"


def called_helpers(helpers: Mapping[str, str], *texts: str) -> list[str]:
    """The source of the helpers that are called in texts, and of those that these call."""
    found: dict[str, None] = {}
    pending = [name for text in texts for name in _CALLS.findall(text)]
    while pending:
        name = pending.pop()
        if name in helpers and name not in found:
            found[name] = None
            pending += _CALLS.findall(helpers[name])
    return [text for name, text in helpers.items() if name in found]


def returned(items: Mapping[str, str]) -> str:
    """A statement that returns a dictionary."""
    return dictionary("return ", items)


def dictionary(before: str, items: Mapping[str, str]) -> str:
    """A dictionary behind ``name = `` or ``return ``."""
    return listed(f"{before}{{", [f"{string(key)}: {text}" for key, text in items.items()], "}")


def ends(content: ExportContent) -> Sequence[PortPath]:
    """The losses; without any, the ports that nothing reads."""
    program = content.program
    if content.heads:
        return content.heads
    wires = (wire for i in program.flat.instances.values() for wire in i.wires.values())
    read = {program.flat.source(source) for _, source in wires}
    return [port for port in program.ports if port not in read] or list(program.ports)


def read(
    content: ExportContent, leaves: Mapping[Value, str], step: str
) -> tuple[str, Mapping[Value, str]]:
    """The argument for the step, where random numbers count by it, and how leaves are read.

    The step is the first leaf: it gets its name in any case.
    """
    counter = content.program.trace.step
    return ("", leaves) if counter is None else (", step=0", {counter: step, **leaves})


def forward(content: ExportContent, writer: SourceWriter, leaves: Mapping[Value, str]) -> list[str]:
    """The statements of the pass forward: to the losses, or to what nothing reads."""
    program, graph = content.program, writer.graph
    values = {str(port): graph.real(program.ports[port]) for port in ends(content)}
    lines, code = writer.body(values.values(), leaves, Naming(graph, Sources()))
    about = "The losses, by port."
    if not content.heads:
        about = "What nothing reads, by port: the diagram has no loss."
    found = {port: code[value].text for port, value in values.items()}
    return [quoted(about), *lines, "", returned(found)]


def assembled(
    content: ExportContent,
    writer: SourceWriter,
    arrays_file: str,
    imports: Mapping[str, str],
    data: str,
    parts: Sequence[str],
    setup: str = "",
) -> str:
    """The whole module: ``parts`` behind what they call, ``setup`` before all arrays.

    ``imports`` are of libraries, each by a text that only what needs it has.
    """
    pages = list(writer.functions.values())
    helpers = called_helpers(writer.target.helpers, *pages, *parts)
    loads = f"{arrays_line(arrays_file)}\n" if writer.arrays else ""
    whole = "".join((loads, *helpers, *pages, *parts))
    first, others = (
        [line for mark, line in known.items() if mark in whole] for known in (_STANDARD, imports)
    )
    lines = "\n".join([*first, "", *others] if first else others)
    top = f"{heading(content, writer.target.title)}\n{lines}\n\n{setup}{loads}{data}"
    return joined([top, *helpers, *pages, *parts])


def joined(parts: Iterable[str]) -> str:
    """Parts of a module with two empty lines between them."""
    return "\n\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


def numbered(names: Sequence[str]) -> str:
    """Several names as a tuple."""
    return "(" + ", ".join(map(string, names)) + ")"
