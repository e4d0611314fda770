"""Many cases in one test, where each takes less time than pytest needs for a test of its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def together(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    *,
    ids: Callable[[Any], str] | Iterable[str] = str,
) -> Callable[[Test], Test]:
    """``parametrize`` as one test: it checks all cases, with the same fixtures, and raises the
    errors of all that fail in one group, each with a note of its case.
    """
    arguments = (names,) if isinstance(names, str) else names
    values = list(cases)
    said = list(map(ids, values)) if callable(ids) else list(ids)
    assert values, "no case at all"

    def decorate(check: Test) -> Test:
        @functools.wraps(check)
        def test(*args: Any, **fixtures: Any) -> None:
            errors = []
            for value, case in zip(values, said, strict=True):
                given = (value,) if isinstance(names, str) else value
                try:
                    check(*args, **fixtures, **dict(zip(arguments, given, strict=True)))
                except Exception as error:
                    error.add_note(f"case: {case}")
                    errors.append(error)
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(values)} cases", errors)

        signature = inspect.signature(check)
        rest = [x for x in signature.parameters.values() if x.name not in arguments]
        vars(test)["__signature__"] = signature.replace(parameters=rest)  # what pytest reads
        return test

    return decorate
