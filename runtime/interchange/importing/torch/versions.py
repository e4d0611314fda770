"""The versions of PyTorch that models are captured from."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gradwire.blocks.errors import RunError

OLDEST, NEWEST = (2, 13), (2, 14)
"""The versions that captures were tried with: they use what PyTorch doesn't promise to keep."""
_HERE = Path(__file__).parent


@contextmanager
def within(version: str) -> Iterator[None]:
    """Capture by PyTorch of this ``version``, such as 2.13.0+cpu.

    Raises RunError if it is another one and a capture fails for that. An error of the model itself
    goes on as it is.
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    was_tried = numbers is not None and OLDEST <= tuple(map(int, numbers.groups())) <= NEWEST
    try:
        yield
    except (ImportError, AttributeError, TypeError) as error:
        if was_tried or not _is_ours(error):
            raise
        oldest, newest = (".".join(map(str, numbers)) for numbers in (OLDEST, NEWEST))
        raise RunError(
            f"Captures were tried with PyTorch {oldest} to {newest}; this is {version} ({error}).",
            next_step=f"Install one of these: pip install 'torch>={oldest},<{newest}.99'",
        ) from error


def _is_ours(error: Exception) -> bool:
    """Whether a module of the capture raised it, or was being imported."""
    file = traceback.extract_tb(error.__traceback__)[-1].filename
    return _HERE in Path(file).parents
