"""What a form says about ports, gradients and types, as text or HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gradwire.app.canvas.state.formatting import dimensions, listed
from gradwire.app.panels import labels, notation
from gradwire.blocks.classes.docstrings import docstring
from gradwire.runtime.calculus.choices.table import notes
from gradwire.runtime.flow import MANY, Verdict

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import PortPath


def docs(cls: type[Block]) -> str:
    """The docstring and the notes on other systems as HTML, with paragraphs and ``code``."""
    text = "\n\n".join([docstring(cls), " ".join(notes(cls.type_name()))])
    paragraphs = escape(text.strip()).split("\n\n")
    marked = [_code(" ".join(text.split())) for text in paragraphs]
    return "".join(f"<p style='margin:0 0 6px 0'>{text}</p>" for text in marked)


def _code(text: str) -> str:
    parts = text.split("``")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def carried(result: EvaluationResult | None, port: PortPath) -> str:
    """``1 × 2 · float32`` and the value, if known."""
    if result is None:
        return ""
    value = result.values.get(port)
    known = value if value is not None else result.ports.get(port)
    if known is None:
        tree = result.trees.get(port)
        return "" if tree is None else listed(tree, result.ports)
    kind = f"{dimensions(tuple(known.shape))} · {known.dtype}"
    shown = "" if value is None else f"\n{notation.glimpse(value)}"
    return f"{kind}{shown}"


def gradient_text(result: EvaluationResult | None, variable: str) -> str:
    """The gradient of a variable, or why it has none; empty where it is not known."""
    if result is None or variable not in result.gradients:
        return ""
    gradient = result.gradients[variable]
    if gradient is not None:
        return f"Gradient {escape(notation.glimpse(gradient))}"
    verdict = result.variable(variable)
    return f"Gradient None. {linked(verdict)}" if verdict else "Gradient None."


def linked(verdict: Verdict) -> str:
    """The verdict's sentence as HTML, with links to the blocks it names.

    Of long routes only the blocks near both ends become links.
    """
    blocks = {cutter.block for cutter in (*verdict.cutters[:MANY], *verdict.repair[:MANY])}
    route = (*verdict.witness[:MANY], *verdict.witness[-MANY:])
    return labels.linked(verdict.sentence, blocks.union(route, verdict.frozen[:MANY]))
