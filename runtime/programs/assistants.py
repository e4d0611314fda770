"""``gradwire mcp``: a server of the Model Context Protocol, for assistants that write programs.

It answers by ``answers``, runs in the working folder, and runs nothing that a call doesn't name.
What a model is made by is run anew for each call, in a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from mcp.server import MCPServer

from gradwire.blocks.errors import GradwireError
from gradwire.runtime import extras
from gradwire.runtime.engine.interruption import Interrupted
from gradwire.runtime.interchange.importing.process import ask
from gradwire.runtime.programs import answers
from gradwire.runtime.programs.answers import Subject
from gradwire.runtime.programs.references import CHILD
from gradwire.runtime.version import __version__

_T = TypeVar("_T")
_SECONDS = 300.0
"""Seconds that a program may take, unless a call says otherwise."""
_INSTRUCTIONS = """\
Answers why parameters of a model get no gradient, a zero or a bad one. `model` is a function
without arguments that returns (model, *arguments) with a single float as result, or that computes
a loss and calls backward: `path/to/file.py:function`. If there is none, write one. An earlier
revision of git goes before it: `HEAD~1:path/to/file.py:function`. A file *.gradwire.json works too.
Begin with doctor, or with watch for a whole training script. A `tried` cure was applied to the
captured model and run; any other was not.
"""


def server() -> MCPServer[object]:
    """The server, with its tools."""
    made: MCPServer[object] = MCPServer(
        "gradwire", title="Gradwire", version=__version__, instructions=_INSTRUCTIONS
    )

    @made.tool()
    def doctor(model: str, seconds: float = _SECONDS) -> dict[str, object]:
        """Find what is wrong with the gradients of a model, with lines and cures."""
        return _answered(lambda: answers.doctor(Subject(model, _deadline(seconds))))

    @made.tool()
    def why(model: str, parameter: str, seconds: float = _SECONDS) -> dict[str, object]:
        """Say why one parameter gets gradient or not, and what would let it through."""
        return _answered(lambda: answers.why(Subject(model, _deadline(seconds)), parameter))

    @made.tool()
    def what_if(model: str, without: list[str], seconds: float = _SECONDS) -> dict[str, object]:
        """Try a model without some stops of gradient, which go by the names in other answers."""
        return _answered(lambda: answers.what_if(Subject(model, _deadline(seconds)), without))

    @made.tool()
    def contracts(
        model: str, lines: list[str] | None = None, seconds: float = _SECONDS
    ) -> dict[str, object]:
        """Check what must hold, such as `flows(loss -> encoder/*)` and `blocked(loss -> target/*)`;
        without lines what pyproject.toml or the diagram states.
        """
        return _answered(lambda: answers.contracts(Subject(model, _deadline(seconds)), lines or []))

    @made.tool()
    def diff(before: str, after: str, seconds: float = _SECONDS) -> dict[str, object]:
        """Compare two models, or two revisions of one, and which gradients that changes."""
        stop = _deadline(seconds)
        return _answered(lambda: answers.diff(Subject(before, stop), Subject(after, stop)))

    @made.tool()
    def watch(
        script: str, arguments: list[str] | None = None, seconds: float = _SECONDS
    ) -> dict[str, object]:
        """Run a training script with PyTorch, and say what is wrong with the gradients of what it
        trains, since which step, and why.
        """
        request = {"script": script, "arguments": arguments or []}
        return _answered(
            lambda: ask(
                CHILD, request, what="The program", threads=None, cancelled=_deadline(seconds)
            )
        )

    @made.tool()
    def fix(
        program: str,
        parameter: str = "",
        arguments: list[str] | None = None,
        seconds: float = _SECONDS,
    ) -> dict[str, object]:
        """Propose patches as diffs, for a model or a training script; with a parameter, for what
        keeps gradient from it. Each was applied to a copy that showed what it says; no file is
        written.
        """
        extras.require("libcst", "Patching a program")
        from gradwire.runtime.programs.repairing import attempted

        stop = _deadline(seconds)
        return _answered(
            lambda: attempted(program, parameter, arguments or [], cancelled=stop).json
        )

    return made


def _deadline(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def _answered(answer: Callable[[], dict[str, object]]) -> dict[str, object]:
    """An answer, or the error as one: an assistant can do something about it."""
    try:
        return answer()
    except GradwireError as error:
        said: dict[str, object] = {"error": str(error)}
        return said | ({"next_step": error.next_step} if error.next_step else {})
    except Interrupted:
        return {
            "error": "It took too long and was ended.",
            "next_step": "Make the model or the batch smaller, or give it more seconds.",
        }
