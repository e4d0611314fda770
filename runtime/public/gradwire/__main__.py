"""The command ``gradwire``, and ``python -m gradwire``: what keeps it from being imported is
explained instead of shown as a traceback.
"""

import gc
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
    gc.disable()  # nothing that is imported is garbage
    try:
        from gradwire.runtime.cli.entry import main as run
    except ImportError as error:
        print(f"gradwire: error: {error}", file=sys.stderr)
        return FAILED
    finally:
        gc.freeze()
        gc.enable()
    return run()


if __name__ == "__main__":
    sys.exit(main())
