"""The parts that modules for all targets have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.export.code import listed, remark, string

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.interchange.export.content import ExportContent
    from gradwire.runtime.interchange.export.writing import SourceWriter

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
    parameters = table(
        "PARAMETERS",
        {path: writer.stored(array, path) for path, array in content.parameters.items()},
    )
    trainable = listed("TRAINABLE = [", [string(path) for path in content.trainable], "]")
    return (
        f"{parameters}\n{quoted('The initial values of all variables.')}\n\n"
        f"{trainable}\n{quoted('The variables that are trained; the others are frozen.')}\n\n"
        f"{inputs(content, writer)}"
    )


def inputs(content: ExportContent, writer: SourceWriter) -> str:
    """The table of inputs."""
    items = {
        path: "None" if array is None else writer.stored(array, path)
        for path, array in content.inputs.items()
    }
    about = quoted("What is fed, for example: one batch of data.")
    return f"{table('INPUTS', items)}\n{about}\n"


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


def result(name: str, items: Mapping[str, str]) -> str:
    """A statement that makes a dictionary, within a function."""
    return listed(f"{name} = {{", [f"{string(key)}: {text}" for key, text in items.items()], "}")


def returned(items: Mapping[str, str]) -> str:
    """A statement that returns a dictionary."""
    return listed("return {", [f"{string(key)}: {text}" for key, text in items.items()], "}")


def ends(content: ExportContent) -> Sequence[PortPath]:
    """The losses; without any, the ports that nothing reads."""
    program = content.program
    if content.heads:
        return content.heads
    wires = (wire for i in program.flat.instances.values() for wire in i.wires.values())
    read = {program.flat.source(source) for _, source in wires}
    return [port for port in program.ports if port not in read] or list(program.ports)


def joined(parts: Iterable[str]) -> str:
    """Parts of a module with two empty lines between them."""
    return "\n\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


def table(name: str, items: Mapping[str, str]) -> str:
    """A dictionary of the module."""
    return listed(f"{name} = {{", [f"{string(key)}: {v}" for key, v in items.items()], "}")


def numbered(names: Sequence[str]) -> str:
    """Several names as a tuple."""
    return "(" + ", ".join(map(string, names)) + ")"
