"""The versions of PyTorch that models are captured from."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gradwire.blocks.errors import RunError

OLDEST, NEWEST = (2, 9), (2, 14)
"""The versions that captures were tried with: they use what PyTorch doesn't promise to keep."""
_HERE = Path(__file__).parent


@contextmanager
def within(version: str) -> Iterator[None]:
    """Capture by PyTorch of this ``version``, such as 2.13.0+cpu.

    Raises RunError if it is older than the oldest, or if it is newer than the newest and a capture
    fails for that. An error of the model itself goes on as it is.
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    found = tuple(map(int, numbers.groups())) if numbers else NEWEST
    if found < OLDEST:
        raise _unsuitable(version)
    try:
        yield
    except (ImportError, AttributeError, TypeError) as error:
        if found > NEWEST and _is_ours(error):
            raise _unsuitable(version, str(error)) from error
        raise


def _is_ours(error: Exception) -> bool:
    """Whether a module of the capture raised it, or was being imported."""
    file = traceback.extract_tb(error.__traceback__)[-1].filename
    return _HERE in Path(file).parents


def _unsuitable(version: str, why: str = "") -> RunError:
    oldest, newest = (".".join(map(str, numbers)) for numbers in (OLDEST, NEWEST))
    return RunError(
        f"Models are captured by PyTorch {oldest} to {newest}; this is {version}"
        f"{f' ({why})' if why else ''}.",
        next_step=f"Install one of these: pip install 'torch>={oldest},<{newest}.99'",
    )
