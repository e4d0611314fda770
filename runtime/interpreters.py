"""Processes that compute for this one: how they are started, what is theirs, and why they ended.

Every Python that this program starts is started here. A diagram may come in a folder with other
files, one of them named like a module that Python or a library imports: to work in a folder must
not run what lies there. So a new interpreter gets the path of this one without what is there for
the working folder or the script alone ('' of ``python -c``, the folder of ``python -m``). What
``PYTHONPATH``, a ``.pth`` file or an installation names stays, also where it is the working folder.

A build that is one folder has no interpreter beside the program: there the program starts itself,
with a first argument that nobody types. Its path never has the working folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import MappingProxyType
from typing import IO

import gradwire

BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables of the environment that set the number of threads for matrix products."""
PATIENCE = 10.0
"""Seconds that a process which was killed may take to end."""
_SERVE = "--serve-module"
"""The first argument of a build that starts itself; the second one is the module."""
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(gradwire.__file__)))
_CODE = (
    "import sys; named = frozenset(sys.path); "
    "sys.path[:] = [p for p in {path!r} if p in named or p not in {unnamed!r}]; "
    "{home!r} in sys.path or sys.path.append({home!r}); "
    "from gradwire.runtime.interpreters import serve; serve({module!r})"
)
"""What ``python -P`` runs, before it imports anything: by then its path has what is named alone."""


def start(
    module: str, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.Popen[bytes]:
    """Start another interpreter, which calls ``main()`` of a module, with pipes to and from it.

    Ctrl-C ends this process alone, which ends the other one: that one's standard input is at its
    end then. ``environment`` has variables to change. Raises OSError.
    """
    if is_build():
        arguments = [_SERVE, module]
        environment = {**environment, "PYINSTALLER_RESET_ENVIRONMENT": "1"}  # it is no part of us
    else:
        arguments = _interpreter_arguments(module)
    with _without_interrupt():
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | environment,
        )


def is_build() -> bool:
    """Whether this is a build that is one folder, where ``sys.executable`` is the program."""
    return bool(getattr(sys, "frozen", False))


def serve_if_asked(arguments: Sequence[str]) -> bool:
    """In a build, serve if ``start`` started this process; whether it did."""
    if arguments[:1] != [_SERVE]:
        return False
    (module,) = arguments[1:]
    if not module.startswith("gradwire."):
        raise ValueError(f"{module} is no module of Gradwire")
    serve(module)
    return True


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process at once, whatever it computes, and wait until it has."""
    with suppress(OSError):
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)


def serve(module: str) -> None:
    """Call ``main()`` of a module, in a process that was started here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    hide_warnings()
    import_module(module).main()


def hide_warnings() -> None:
    """Keep warnings of libraries off standard error, unless the user asked Python for them.

    What numbers become, such as infinite, shows in results.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def pipes() -> tuple[IO[bytes], IO[bytes]]:
    """What the process that started this one writes, and where it reads; standard input is empty
    from now on, and what is printed goes to standard error, since a plug-in's words are no answer.
    """
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return commands, answers


def processors() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def blas_threads(count: int) -> dict[str, str]:
    """The variables of the environment that let matrix products use so many threads; none if the
    user chose how many.
    """
    if any(name in os.environ for name in BLAS):
        return {}
    return dict.fromkeys(BLAS, str(count))


def why_ended(code: int | None) -> str:
    """Why a process has ended, by its exit code, which is -n for a signal n."""
    if code is None or code >= 0:
        return f"its process ended with exit code {code}"
    with suppress(ValueError):
        name = signal.Signals(-code).name
        why = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{why}"
    return f"its process was ended by signal {-code}"


def _interpreter_arguments(module: str) -> list[str]:
    flags = "-P" + "E" * sys.flags.ignore_environment + "s" * sys.flags.no_user_site
    path = [entry for entry in sys.path if isinstance(entry, str)]
    code = _CODE.format(path=path, unnamed=_unnamed(path), home=_HOME, module=module)
    return [flags, "-c", code]


def _unnamed(path: list[str]) -> set[str]:
    """The entries that are the working folder, or the folder of the script that was started."""
    folders = [os.curdir]
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    if script is not None and getattr(main, "__spec__", None) is None:
        folders.append(os.path.dirname(os.path.realpath(script)))
    return {entry for entry in path if any(_is_same(entry, folder) for folder in folders)}


def _is_same(entry: str, folder: str) -> bool:
    with suppress(OSError):  # one of them is gone
        return os.path.samefile(entry or os.curdir, folder)
    return False


@contextmanager
def _without_interrupt() -> Iterator[None]:
    """Within, processes start with Ctrl-C held back, so that none of them is interrupted before it
    ignores that.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
