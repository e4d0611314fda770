"""The commands ``gradwire`` and ``gradwire-editor``, and ``python -m gradwire``: what keeps them
from being imported is explained instead of shown as a traceback.
"""

import io
import os
import sys

FAILED = 3
"""The exit code of a command that can't start."""


def main() -> int:
    """Run the command line and return the exit code."""
    # Threads of OpenBLAS, which otherwise compute nothing for 100 ms at each start.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    # Plug-ins of pydantic, which reads the metadata of all that is installed to look for them.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from gradwire.runtime.cli.entry import main as run
    except ImportError as error:
        print(f"gradwire: error: {error}", file=sys.stderr)
        return FAILED
    return run()


def editor() -> int:
    """Open the editor, on the file that is named if one is, and return the exit code.

    Windows gives such a program no streams: there, what it says is shown in a box once it ends.
    """
    sys.argv.insert(1, "edit")
    if sys.stderr is not None:
        return main()
    sys.stderr = io.StringIO()
    code = main()
    if code and sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.MessageBoxW(None, sys.stderr.getvalue(), "Gradwire", 0x10)
    return code


if __name__ == "__main__":
    sys.exit(main())
