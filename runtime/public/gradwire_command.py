"""The command ``gradwire``, in a module of its own: whatever keeps the packages from being imported
is explained instead of shown as a traceback.
"""

import sys

FAILED = 3
"""The exit code of a command that can't start."""


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        import gradwire  # noqa: F401  # for its check: raises ImportError where another package hides one of ours
        from runtime.cli import main as run
    except ImportError as error:
        print(f"gradwire: error: {error}", file=sys.stderr)
        return FAILED
    return run()
