"""``gradwire mcp``: answers for assistants, by the Model Context Protocol."""

from __future__ import annotations

from gradwire.runtime import extras


def mcp() -> None:
    """Serve assistants that write programs, by the Model Context Protocol.

    Tools: doctor, why, what_if, contracts and diff, of a model that a program makes
    (model.py:make), and watch, of a training script. It works in the current folder, and runs
    nothing that a call doesn't name. Messages go by standard input and output.
    Settings of an assistant:
    {"mcpServers": {"gradwire": {"command": "gradwire", "args": ["mcp"]}}}
    """
    extras.require("mcp", "A server for assistants")
    from gradwire.runtime.programs.assistants import server

    server().run("stdio")
