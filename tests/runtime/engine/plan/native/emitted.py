"""What the engine compiles for a processor that is not at hand, as assembly.

    python -m tests.runtime.engine.plan.native.emitted PROCESSOR WORK…

Prints a line of JSON for each function, with its instructions. Plans are made and not run, in a
process of its own: what they keep can't be called.
"""

from __future__ import annotations

import json
import re
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import llvmlite.binding as llvm

from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.plan.passes.late import FAST
from tests.benchmarks.engine.__main__ import WORKS

PROCESSORS = {
    "apple-m1": "arm64-apple-macosx",
    "neoverse-n1": "aarch64-unknown-linux-gnu",
}
"""Names of processors, and systems that they run."""


def target_of(processor: str) -> Any:
    """The code generator for a processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(PROCESSORS[processor])
    return target.create_target_machine(cpu=processor, opt=2)


def main(processor: str, *works: str) -> None:
    """Print what is compiled for the works."""
    target = target_of(processor)
    host = machine._Host(processor, "", 4, False)

    def emitted(text: str, name: str) -> SimpleNamespace:
        module = llvm.parse_assembly(text)
        module.verify()
        found = re.findall(r"^\s+([a-z]\S*)[ \t]+(.*)$", target.emit_assembly(module), re.M)
        print(json.dumps({"name": name, "code": [" ".join(line) for line in found]}))
        return SimpleNamespace(place=0)

    with patch.object(machine, "_host", lambda: host), patch.object(machine, "function", emitted):
        for name in works:
            work, engine = WORKS[name](), NumpyEngine(FAST, 1)
            Session(work.diagram, engine=engine).prepare(feeds=tuple(work.data), values=("loss",))


if __name__ == "__main__":
    main(*sys.argv[1:])
