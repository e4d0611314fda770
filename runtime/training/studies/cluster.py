"""Trainings of a study on a cluster, by Dask: it distributes, this hands it the work.

What is sent is text and numbers. Workers need this package in the same version; data files have to
lie where they lie here. Dask ends no training that runs: one that was cancelled goes on to its end,
and nobody takes its result.
"""

from __future__ import annotations

import re
import socket
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError, reason_of
from gradwire.runtime import extras
from gradwire.runtime.training.studies.task import Trained, train
from gradwire.runtime.version import __version__

if TYPE_CHECKING:
    from distributed import Client, Future

    from gradwire.blocks.values import Json
    from gradwire.runtime.training.studies.task import Stop, StudyWork, TrainingTask

_ADDRESS = re.compile(r"(?:tcp|tls)://(\[[0-9a-fA-F:.]+\]|[\w.-]+):(\d{1,5})")
PATIENCE = 20.0
"""Seconds that a scheduler may take to answer, and a worker to come."""
_PAUSE = 0.05
"""Seconds between two looks at what has ended."""
_LOST = 30.0
"""Seconds without the scheduler after which it is given up."""


def on_cluster(
    work: StudyWork,
    tasks: list[TrainingTask],
    scheduler: str,
    stop: Stop = lambda: False,
    patience: float = PATIENCE,
) -> Iterator[tuple[int, Trained]]:
    """Train on the workers of a scheduler, such as ``tcp://HOST:PORT``; see ``Runner``.

    Raises RunError if Dask is not installed, if the scheduler does not answer, has no worker or is
    lost, and if its workers have another version of this package.
    """
    extras.require("distributed", "Training on a cluster", note="Its workers need it too.")
    from distributed import Client, Future, as_completed

    with _connected(Client, scheduler, patience) as client:
        _require_workers(client, scheduler, patience)
        # A task of its own, which is made again should the worker that has its result be lost.
        common = client.submit(_same, work, pure=False)
        waiting, running = deque(enumerate(tasks)), dict[Future, int]()
        ended = as_completed([], loop=client.loop)
        lost = None
        while (waiting or running) and not stop():
            lost = _lost_since(client, lost, scheduler)
            # None waits at a worker: it would be counted as failed too if that is lost.
            for _ in range(min(len(waiting), _threads(client) - len(running))):
                number, task = waiting.popleft()
                future = client.submit(train, common, task, pure=False)
                running[future] = number
                ended.add(future)
            if not ended.has_ready():
                time.sleep(_PAUSE)
                continue
            for future in ended.next_batch(block=False):
                yield running.pop(future), _result(future)
        client.cancel(list(running))


def _threads(client: Client) -> int:
    """How many trainings the workers that there are now make at once."""
    return sum(client.nthreads().values()) if client.status == "running" else 0


def _same(work: StudyWork) -> StudyWork:
    return work


def _connected(kind: type[Client], scheduler: str, patience: float) -> Client:
    try:
        _require_answer(scheduler, patience)
        return kind(scheduler, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise RunError(
            f"No scheduler of Dask answers at {scheduler!r}.",
            expected="the address that `dask scheduler` prints, such as tcp://HOST:8786",
            got=str(error).partition("\n")[0][:200],
            next_step="Start one with: dask scheduler",
        ) from None


def _require_answer(scheduler: str, patience: float) -> None:
    """Raise OSError or ValueError unless somebody listens; a client that failed is slow to end."""
    found = _ADDRESS.fullmatch(scheduler)
    if found is None:
        raise ValueError("an address of another form")
    host, port = found[1].strip("[]"), int(found[2])
    socket.create_connection((host, port), timeout=patience).close()


def _require_workers(client: Client, scheduler: str, patience: float) -> None:
    """Raise RunError unless there are workers, with this version of the package."""
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        raise RunError(
            f"The scheduler at {scheduler} has no worker.",
            next_step=f"Start some: dask worker {scheduler} --nthreads 1",
        ) from None
    for worker, version in client.run(_version, on_error="return").items():
        if version != __version__:
            raise RunError(
                f"The worker at {worker} can't train the diagram as this computer does.",
                expected=f"Gradwire {__version__}",
                got=version if isinstance(version, str) else f"{type(version).__name__}: {version}",
                next_step="Install the same version for workers and here.",
            )


def _version() -> str:
    return __version__


def _lost_since(client: Client, lost: float | None, scheduler: str) -> float | None:
    """Since when the scheduler is lost; None while it is there. Raises RunError after a while."""
    if client.status == "running":
        return None
    now = time.monotonic()
    if (lost is not None and now - lost > _LOST) or client.status == "closed":
        raise RunError(
            f"The scheduler at {scheduler} is lost.",
            next_step="Start it again, and go on with --resume if the study has a folder.",
        )
    return lost or now


def _result(future: Future) -> Trained:
    """How a training ended, also one whose worker did not come to its end."""
    try:
        found: Json = future.result()
    except Exception as error:  # whatever keeps a worker from training: the others go on
        return Trained.failed(reason_of(error))
    return found if isinstance(found, Trained) else Trained.failed("It was stopped.")
