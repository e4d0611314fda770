"""The numbers of the manual's page on a thousand GPUs: ``python -m tests.assets.scale --write``.

Every number of its tables is computed here from ``INPUTS``. Where something has been measured, the
value and the source of an input change, and the page with it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.assets.examples import MANUAL

PAGE = MANUAL / "scale.md"
_TABLE = r"(^## {heading}$.*?\n)((?:^\|[^\n]*\n)+)"


@dataclass(frozen=True)
class Input:
    """A number that the plan begins with, and where it is from."""

    what: str
    value: float
    unit: str
    source: str


DATA_SHEET, ASSUMED, CHOSEN = "data sheet", "assumed", "chosen"
MEASURED = "measured: checkpoints of 400 MB, with their digests, on two shared processors"
INPUTS = {
    "layers": Input("layers", 24, "", CHOSEN),
    "width": Input("width", 1792, "", CHOSEN),
    "heads": Input("heads", 14, "", CHOSEN),
    "vocabulary": Input("vocabulary", 32_000, "", CHOSEN),
    "sequence": Input("tokens of a sequence", 2048, "", CHOSEN),
    "batch": Input("sequences of a device and step", 2, "", CHOSEN),
    "tokens": Input("tokens of the training", 1e12, "", CHOSEN),
    "devices": Input("devices", 1000, "", CHOSEN),
    "node": Input("devices of a node", 8, "", "data sheet of a DGX H100"),
    "memory": Input("memory of a device", 80e9, "B", "data sheet of an H100"),
    "peak": Input("products, TF32", 494.7e12, "FLOP/s", "data sheet of an H100, dense"),
    "share": Input("share of the peak that a step reaches", 0.4, "", ASSUMED),
    "inside": Input("bandwidth inside a node, each way", 450e9, "B/s", "data sheet of NVLink 4"),
    "between": Input("bandwidth between nodes, a device", 50e9, "B/s", "data sheet, 400 Gbit/s"),
    "latency": Input("latency of one transfer", 5e-6, "s", ASSUMED),
    "disk": Input("bandwidth of one process to files", 0.2e9, "B/s", MEASURED),
    "files": Input("bandwidth of all processes to files", 50e9, "B/s", ASSUMED),
    "restart": Input("restart after a failure", 300, "s", ASSUMED),
    "failures": Input("mean time between failures of a device", 16_384 * 54 * 86_400 / 419, "s",
                      "419 failures of 16,384 GPUs in 54 days: Dubey et al. 2024"),
}  # fmt: skip
NUMBER = 4
"""Bytes of a number: float32, in which a recipe trains."""


def value(name: str) -> float:
    """The value of an input."""
    return INPUTS[name].value


def parameters() -> float:
    """``N = 12 L h² + V h``: a layer has 4 h² in its attention and 8 h² behind it."""
    width = value("width")
    return 12 * value("layers") * width**2 + value("vocabulary") * width


def activation_bytes() -> float:
    """``L s b h (34 + 5 a s / h)`` in 16 bits, at most twice that in 32, for a device and step.

    Source: Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models.
    """
    width, sequence = value("width"), value("sequence")
    each = 34 + 5 * value("heads") * sequence / width
    return 2 * value("layers") * sequence * value("batch") * width * each


def step_tokens(devices: float) -> float:
    """Tokens of a step: each device has its share of the batch axis."""
    return devices * value("batch") * value("sequence")


def compute_time() -> float:
    """``6 N`` operations a token, forward and backward. Source: Kaplan et al. 2020."""
    return 6 * parameters() * step_tokens(1) / (value("peak") * value("share"))


def ring_time(size: float, devices: float, bandwidth: float) -> float:
    """``2 (n − 1) / n · bytes / bandwidth + 2 (n − 1) · latency``: an all-reduce around a ring.

    Source: Patarasuk & Yuan 2009, Bandwidth optimal all-reduce algorithms.
    """
    steps = 2 * (devices - 1)
    return steps / devices * size / bandwidth + steps * value("latency")


def all_reduce_time(devices: float) -> float:
    """All gradients: a ring inside each node, and for each of its devices one between nodes."""
    size, node = NUMBER * parameters(), min(devices, value("node"))
    nodes = devices / node
    return ring_time(size, node, value("inside")) + ring_time(size / node, nodes, value("between"))


def step_time(devices: float) -> float:
    """Compute, then communicate: what overlaps of the two is gained on top."""
    return compute_time() + all_reduce_time(devices)


def state_bytes(weights_over: float, state_over: float) -> float:
    """Weights, gradients and Adam's two means of a device, each split over so many devices."""
    return NUMBER * parameters() * (2 / weights_over + 2 / state_over)


def checkpoint_bytes() -> float:
    """Weights and Adam's two means."""
    return 3 * NUMBER * parameters()


def failure_time() -> float:
    """Mean time between failures of all devices together."""
    return value("failures") / value("devices")


def interval(write: float) -> float:
    """``√(2 δ M)``: the time between checkpoints that loses least. Source: Young 1974."""
    return math.sqrt(2 * write * failure_time())


def lost_share(write: float) -> float:
    """``δ / T + T / 2M + R / M``: writing, what is done again, and restarts."""
    between, mean = interval(write), failure_time()
    return write / between + between / (2 * mean) + value("restart") / mean


# ---- as tables -----------------------------------------------------------------------------------


def quantity(number: float, unit: str = "") -> str:
    """Three digits with a prefix: ``3.93 GB``, ``125 ms``."""
    if unit == "s" and number >= 60:
        name, size = next(u for u in (("d", 86400), ("h", 3600), ("min", 60)) if number >= u[1])
        count = number / size
        return f"{count:.3g} {name}" if count < 1000 else f"{count:,.0f} {name}"
    prefixes = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("", 1.0), ("m", 1e-3), ("µ", 1e-6))
    if not unit and number < 1e6:
        return f"{number:,.3g}" if number < 1 else f"{number:,.0f}"
    if not unit:
        power = math.floor(math.log10(number))
        return f"{number / 10**power:.3g} · 10{str(power).translate(_RAISED)}"
    prefix, size = next(p for p in prefixes if number >= p[1] * 0.9995 or p[0] == "µ")
    return f"{number / size:.3g} {prefix}{unit}"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def inputs_table() -> list[list[str]]:
    """What the plan begins with."""
    rows = [[i.what, quantity(i.value, i.unit), i.source] for i in INPUTS.values()]
    return [["input", "value", "source"], *rows]


def sizes_table() -> list[list[str]]:
    """What follows from the model alone."""
    return [
        ["", "formula", "value"],
        ["parameters N", "12 L h² + V h", quantity(parameters())],
        ["operations of a token", "6 N", quantity(6 * parameters(), "FLOP")],
        ["tokens of a step", "n · b · s", quantity(step_tokens(value("devices")))],
        ["steps", "tokens / tokens of a step",
         quantity(value("tokens") / step_tokens(value("devices")))],
    ]  # fmt: skip


def memory_table() -> list[list[str]]:
    """What a device holds, by what is split."""
    devices, node = value("devices"), value("node")
    splits: Sequence[tuple[str, float, float]] = (
        ("batch alone (data parallel)", 1, 1),
        ("and the optimiser's state, over all", 1, devices),
        ("and weights and gradients, over a node", node, devices),
        ("all of it, over all", devices, devices),
    )
    rows = []
    for what, weights, state in splits:
        held = state_bytes(weights, state)
        total = held + activation_bytes()
        fits = "fits" if total <= value("memory") else "does not fit"
        cells = (held, activation_bytes(), total)
        rows.append([what, *(quantity(size, "B") for size in cells), fits])
    return [["split", "weights, gradients, state", "activations", "together", ""], *rows]


def time_table() -> list[list[str]]:
    """A step on ever more devices, each with the same share of the batch."""
    rows = []
    for devices in (1, value("node"), 64, value("devices")):
        whole = step_time(devices)
        speed = step_tokens(devices) / whole
        rows.append(
            [quantity(devices), quantity(compute_time(), "s"),
             quantity(all_reduce_time(devices), "s") if devices > 1 else "0",
             quantity(whole, "s"), f"{compute_time() / whole:.0%}",
             quantity(value("tokens") / speed, "s")]
        )  # fmt: skip
    head = ["devices", "compute", "all-reduce", "step", "efficiency", "whole training"]
    return [head, *rows]


def splitting_table() -> list[list[str]]:
    """Bytes that a device sends in a step."""
    devices, size = value("devices"), NUMBER * parameters()
    once = (devices - 1) / devices * size
    rows: Sequence[tuple[str, str, float]] = (
        ("batch alone", "2 (n − 1) / n · 4 N", 2 * once),
        ("optimiser's state too: reduce-scatter, then all-gather", "2 (n − 1) / n · 4 N", 2 * once),
        ("weights too: all-gather forward and backward, reduce-scatter", "3 (n − 1) / n · 4 N",
         3 * once),
    )  # fmt: skip
    return [
        ["split", "formula", "bytes", "at the bandwidth between nodes"],
        *([what, formula, quantity(sent, "B"), quantity(sent / value("between"), "s")]
          for what, formula, sent in rows),
    ]  # fmt: skip


def checkpoint_table() -> list[list[str]]:
    """Checkpoints by one process, and by all at once."""
    size = checkpoint_bytes()
    rows = []
    for what, bandwidth in (("one process", "disk"), ("each its part", "files")):
        write = size / value(bandwidth)
        rows.append(
            [what, quantity(size, "B"), quantity(write, "s"), quantity(failure_time(), "s"),
             quantity(interval(write), "s"), f"{lost_share(write):.2%}"]
        )  # fmt: skip
    head = ["written by", "size 12 N", "time δ", "between failures M", "best interval √(2 δ M)",
            "lost δ / T + T / 2M + R / M"]  # fmt: skip
    return [head, *rows]


TABLES: dict[str, Callable[[], list[list[str]]]] = {
    "What it begins with": inputs_table,
    "Sizes": sizes_table,
    "Memory of a device": memory_table,
    "Time of a step": time_table,
    "What splitting sends": splitting_table,
    "Checkpoints and failures": checkpoint_table,
}
"""The tables of the page by the heading over each."""


def lines(table: list[list[str]]) -> str:
    """A table as Markdown."""
    head, *rows = table
    every = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in every)


def written(text: str) -> str:
    """The page with all of its tables computed anew."""
    for heading, table in TABLES.items():
        pattern = re.compile(_TABLE.format(heading=re.escape(heading)), re.MULTILINE | re.DOTALL)
        found = lines(table())
        text, count = pattern.subn(lambda match, new=found: match[1] + new, text, count=1)
        if count != 1:
            raise LookupError(f"no table under {heading!r}")
    return text


if __name__ == "__main__":
    page = written(PAGE.read_text(encoding="utf-8"))
    if "--write" in sys.argv:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print("\n".join(f"{name}\n{lines(table())}" for name, table in TABLES.items()))
