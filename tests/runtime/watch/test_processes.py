"""Trainings in two processes: reasons are told once, and no process waits for another for ever."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
from torch import distributed, nn
import gradwire as gw

how, rank, folder, is_watched = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] == "True"
distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/{is_watched}", rank=rank, world_size=2
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.unused, self.head = nn.Linear(4, 8), nn.Linear(4, 4), nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        return self.head(h.detach() if "cut" in how else h)


torch.manual_seed(0)
model = Net()
if "ddp" in how:
    model = nn.parallel.DistributedDataParallel(model, find_unused_parameters="find" in how)
elif "flat" in how:
    from torch.distributed.fsdp import FullyShardedDataParallel
    model = FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True)
else:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(rank)
watched = gw.watch(model, optimizer) if is_watched else None
losses = []
try:
    for _ in range(7):
        optimizer.zero_grad()
        loss = model(torch.randn(3, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
except RuntimeError as error:
    losses.append(str(error)[:70])
if watched is not None:
    watched.close()
found = [] if watched is None else [str(each) for each in watched.found]
print((losses, found, repr(watched and watched.failure)))
distributed.destroy_process_group()
"""
UNUSED = "unused.weight and unused.bias: No call of the step reads unused.weight"
LINE = 1 + next(n for n, line in enumerate(PROGRAM.splitlines()) if "detach()" in line)
CUT = f"encoder.weight and encoder.bias: detach (train.py:{LINE}) stops every route to loss"


def run(folder, how, is_watched=True):
    """What both processes print, and what they write to standard error."""
    script = folder / "train.py"
    script.write_text(PROGRAM, "utf-8")
    commands = [
        [sys.executable, "-P", "-W", "ignore", script, how, str(rank), folder, str(is_watched)]
        for rank in range(2)
    ]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(c, stdout=pipe, stderr=pipe, text=True) for c in commands]
    try:
        ended = [process.communicate(timeout=240) for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0], ended
    return [ast.literal_eval(out) for out, _ in ended], [err for _, err in ended]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("shards cut", (UNUSED, CUT)),
        pytest.param("ddp find cut", (UNUSED, CUT), marks=pytest.mark.night),
        pytest.param("ddp", (UNUSED,), marks=pytest.mark.night),
        pytest.param("flat cut", (), marks=pytest.mark.night),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reasons_are_told_by_the_first_process_and_nothing_changes(tmp_path, how, told):
    seen, spoken = run(tmp_path, how)
    alone, _ = run(tmp_path, how, is_watched=False)
    for rank in range(2):
        losses, found, failure = seen[rank]
        assert losses == alone[rank][0] and failure == "None"
        assert len(found) == len(told) and all(any(text in f for f in found) for text in told)
    assert all(text in spoken[0] for text in told)
    assert "gradwire" not in spoken[1]
