"""The command ``gradwire``: one module a command, imported only when it is called."""

from __future__ import annotations

import errno
import gc
import importlib
import keyword
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from io import StringIO
from itertools import chain
from typing import Annotated, Any

import typer

from gradwire.blocks.errors import FileError, GradwireError, RunError, reason_of
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.cli.interrupt import exit_on_interrupt
from gradwire.runtime.cli.output import (
    CLEAN,
    FAILED,
    INTERRUPTED,
    USAGE,
    UsageError,
    exit_code,
    print_problems,
)
from gradwire.runtime.interpreters import hide_warnings
from gradwire.runtime.publish.printable import visible
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.version import __version__

COMMANDS: Mapping[str, str] = {
    "run": "Run a diagram: values, gradients, wires.",
    "flow": "Show which wires carry gradient, and why the others don't.",
    "whatif": "Try a change: gradients and wires, before and after.",
    "doctor": "Rank what is wrong with a diagram's gradients.",
    "train": "Train a diagram by its recipe, into a folder.",
    "watch": "Run a Python program, and say what is wrong with the gradients of what it trains.",
    "timeline": "Show one training step, block by block: forward, seed, backward and update.",
    "quiz": "Ask about gradients, states, values and stops of a diagram, with answers to choose "
    "from.",
    "lesson": "Walk through a lesson: read, predict, change, and see what is computed.",
    "grade": "Mark learners' answers to a lesson, and count the misconceptions behind wrong ones.",
    "study": "Train a diagram with other numbers and seeds, side by side.",
    "check": "List all problems of diagrams, with places.",
    "contracts": "Write the contracts that hold today: what gets gradient from what, and what is "
    "kept from it.",
    "bench": "Measure where time goes, block by block.",
    "diff": "Compare two diagrams, and what the difference does to gradients.",
    "merge": "Merge two versions of a diagram by blocks and wires.",
    "picture": "Draw a diagram as PNG, SVG, PDF or TikZ.",
    "publish": "Write a page for readers without Gradwire: they change numbers and open stops, "
    "and see why.",
    "import": "Import a model of another system as a diagram.",
    "export": "Write a diagram as Python source that needs no Gradwire, or as an ONNX model.",
    "blocks": "List the blocks, or say everything about one.",
    "schema": "Write the JSON Schema of diagram files.",
    "demo": "Run the seed diagram, then open it.",
    "edit": "Open the editor; `gradwire FILE` does the same.",
    "fix": "Show patches of a program that let gradient through, each tried before it is shown.",
    "mcp": "Serve assistants that write programs, by the Model Context Protocol.",
    "desktop": "Put Gradwire into the desktop's menu, and open diagrams with it.",
}
"""Names of the commands, and of the modules whose function of the same name they call; those of
keywords of Python end in ``_``. With the first lines of their docstrings: ``--help`` and the
completion of names import no command."""

_ROOMS = {
    "train": "runs",
    "study": "runs",
    "watch": "programs",
    "mcp": "programs",
    "fix": "programs",
    "contracts": "programs",
    "import": "interchange",
    "export": "interchange",
    "diff": "versions",
    "merge": "versions",
    "desktop": "desktop",
}
"""The rooms of commands whose modules are not in the room ``commands``."""
_SETTINGS = {"watch": {"allow_interspersed_args": False}}
"""Of commands that leave what follows their first argument to a program."""
_COMPUTING = frozenset(COMMANDS) - {
    "train", "study", "watch", "lesson", "blocks", "schema", "demo", "edit", "desktop", "mcp",
}  # fmt: skip
"""Commands that Ctrl-C ends at once; the others take no time, wait for keys, open a window, or have
something to write first."""
_OBJECTS = 100_000
"""Objects after which garbage is collected: what a large diagram builds lives to the end."""
_COMPLETION = "_GRADWIRE_COMPLETE"
_MISTYPED: Any = typer.BadParameter.__base__
"""What typer raises where what was typed makes no sense; typer exports only classes below it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (``sys.argv``) and return the exit code; nothing is raised."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        hide_warnings()
        gc.freeze()  # nothing that was imported is garbage
    if arguments is None and typed[:1] and typed[0] in _COMPUTING:
        exit_on_interrupt()
        gc.set_threshold(_OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a glyph the terminal lacks is no failure
    try:
        _open_closed_streams()
        code = _call(typed)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        _discard_output()
        return CLEAN  # the reader has seen enough (`| head`)
    except OSError as error:
        _discard_output()
        with suppress(OSError):
            print(
                f"gradwire: error: The output can't be written: {error.strerror}.", file=sys.stderr
            )
            sys.stderr.flush()
        return FAILED
    if arguments is None:
        gc.freeze()  # the process ends: to look for garbage would take as long as a run
    return code


class _ClosedOutput(StringIO):
    """Standard output that the caller closed (`>&-`): fails once there is something to write."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def _open_closed_streams() -> None:
    """Put something in the place of streams that the caller closed."""
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # until the process ends


def _discard_output() -> None:
    """Keep Python from writing at exit what could not be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())


def application(loaded: Collection[str] = COMMANDS, *, alone: bool = False) -> typer.Typer:
    """The typer application: of commands that are not ``loaded`` it knows what they are for, and
    with ``alone`` nothing.
    """
    app = typer.Typer(
        name="gradwire",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="`gradwire FILE` opens the editor on a file, `gradwire` alone opens it empty. "
        "Exit codes: 0 clean, 1 the diagram has problems, 2 bad usage or file, 3 the run failed or "
        "the diagram is too large to run, 130 interrupted.",
    )
    app.callback()(_about)
    for name, summary in COMMANDS.items():
        if name in loaded:
            app.command(name, context_settings=_SETTINGS.get(name))(_command(name))
        elif not alone:
            app.command(name, help=summary)(_not_loaded)
    return app


def _command(name: str) -> Callable[..., object]:
    room = f"gradwire.runtime.cli.{_ROOMS.get(name, 'commands')}"
    named = f"{name}_" if keyword.iskeyword(name) else name
    command: Callable[..., object] = getattr(importlib.import_module(f".{named}", room), named)
    return command


def _not_loaded() -> None:
    """A command that was not typed: never called."""


def _words(typed: Iterable[str]) -> set[str]:
    """What was typed, also where a shell asks how to complete it."""
    completed = (os.environ.get(name, "") for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS"))
    return {*typed, *chain.from_iterable(words.split() for words in completed)}


def _call(typed: list[str]) -> int:
    is_command = bool(typed) and (typed[0] in COMMANDS or typed[0].startswith("-"))
    if not is_command and len(typed) > 1 and not os.path.exists(typed[0]):
        near = did_you_mean(typed[0], COMMANDS) or "`gradwire --help` lists the commands."
        return _report(UsageError(f"There is no command {typed[0]!r}.", next_step=near))
    completes = _COMPLETION in os.environ
    if not (is_command or completes):
        typed = ["edit", *typed]
    alone = not completes and typed[0] in COMMANDS
    try:
        command = typer.main.get_command(application(_words(typed), alone=alone))
        code = command.main(
            args=typed, prog_name="gradwire", complete_var=_COMPLETION, standalone_mode=False
        )
        return code if isinstance(code, int) else CLEAN
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as end:  # of shell completion, or typer's answer to a reader that left
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else FAILED
    except _MISTYPED as error:
        with redirect_stderr(StringIO()) as said:
            error.show()
        print(visible(said.getvalue()), end="", file=sys.stderr)
        return USAGE
    except GradwireError as error:
        return _report(error)
    except MemoryError as error:
        step = "Make the shapes in the diagram smaller."
        got = str(error) or None
        return _report(RunError("There is not enough memory.", got=got, next_step=step))
    except OSError as error:
        if error.filename is None:
            raise  # of a stream, such as a full one
        return _report(FileError(f"{error.strerror}.", path=str(error.filename)))
    except Exception as error:  # the last line of defence: a user never sees a traceback
        if os.environ.get("GRADWIRE_TRACEBACK"):
            raise
        what = f"Gradwire itself failed: {reason_of(error)}"
        step = "Set GRADWIRE_TRACEBACK=1, run it again and report what it prints."
        return _report(GradwireError(what, next_step=step))


def _report(error: GradwireError) -> int:
    print_problems([Problem.of_error(error)])
    return exit_code(error)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gradwire {__version__}")
        raise typer.Exit


def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Diagrams of differentiable arithmetic: run them, and see which wires carry gradient."""
