"""What watching a training costs: ``python -m tests.benchmarks.training.watching [--small] …``.

Prints processor time of a step of a transformer, as a multiple of the same step unwatched: watched,
recorded, the two in which one is captured whole and diagnosed, and with autograd's anomaly mode,
each measured in turn; the time that a look takes; and the memory and the size of a record. The
parameters after all steps are compared bit for bit.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import nn

import gradwire as gw


class Model(nn.Module):
    """A transformer that classifies sequences of tokens."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.table = nn.Embedding(5000, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, 2)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.encoder(self.table(tokens)).mean(1))


class Small(nn.Module):
    """A perceptron of 100 parameters, each so small that what is done for each of them tells."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5000, 16)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(49))
        self.head = nn.Linear(16, 2, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens).mean(1)
        for layer in self.layers:  # past which gradient gets: numbers near 0 are slow to add
            x = x + 0.1 * layer(x).relu()
        return self.head(x)


def seconds(run: Callable[[], None]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, nargs=2, default=(8, 64))
    parser.add_argument("--small", action="store_true", help="100 parameters of 16 by 16")
    parser.add_argument("--rounds", type=int, default=10)
    chosen = parser.parse_args()
    torch.set_num_threads(1)

    def made() -> tuple[Any, Any, Callable[[], None]]:
        torch.manual_seed(0)
        model = Small() if chosen.small else Model(chosen.width, chosen.layers)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
        tokens = torch.randint(0, 5000, tuple(chosen.batch))
        labels = torch.randint(0, 2, (chosen.batch[0],))

        def step() -> None:
            torch.manual_seed(0)  # dropout draws the same in both models
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(tokens), labels).backward()
            optimizer.step()

        step()
        return model, optimizer, step

    plain, other = made(), made()
    times: dict[str, list[float]] = {n: [] for n in ("plain", "watched", "recorded", "captured")}
    for step in plain[2], other[2]:  # the first watch of a model, which captures its step
        step()
    with gw.watch(other[0], other[1], every=0, quiet=True):
        times["captured"].append(seconds(other[2]) + seconds(other[2]))
    for _ in range(2):
        plain[2]()
    steps = 4
    for _ in range(chosen.rounds):
        for _ in range(3):
            times["plain"].append(seconds(plain[2]))
        with gw.watch(other[0], other[1], every=0, quiet=True, capture=False) as watched:
            times["recorded"].append(seconds(other[2]))
            times["watched"].append(seconds(other[2]))
            times["watched"].append(seconds(other[2]))
            assert watched.found == [], watched.found
        steps += 3
    for ours, theirs in zip(plain[0].parameters(), other[0].parameters(), strict=True):
        assert torch.equal(ours, theirs)
    with torch.autograd.set_detect_anomaly(True):
        times["anomaly"] = [seconds(plain[2]) for _ in range(chosen.rounds)]
    base = min(times["plain"]), median(times["plain"])
    count = sum(p.numel() for p in plain[0].parameters())
    tensors = sum(1 for _ in plain[0].parameters())
    print(f"{count / 1e6:.1f} million in {tensors} parameters, {steps} steps, equal bit for bit")
    for name, found in times.items():
        ratios = min(found) / base[0], median(found) / base[1]
        print(
            f"{name:9} {1e3 * min(found):8.2f} ms  least ×{ratios[0]:.3f}  median ×{ratios[1]:.3f}"
        )

    model, optimizer, step = other
    with gw.watch(model, optimizer, every=0, quiet=True, capture=False) as watched:
        step()
        looks = sorted(seconds(watched._look) for _ in range(9))
        print(f"a look    {1e3 * looks[4]:8.3f} ms")
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    with gw.watch(model, optimizer, every=0, quiet=True, capture=False) as watched:
        recorder = watched._recorder
        assert recorder is not None
        step()
        gc.collect()
        calls = len(recorder.step.calls)
        kept = tracemalloc.get_traced_memory()[0] - before
        print(f"a record  {calls} calls; with its diagram {kept / 1024 / calls:.2f} KiB a call")
    tracemalloc.stop()


if __name__ == "__main__":
    main()
