"""What Python asks of numbers and arrays, refused until a diagram runs."""

from __future__ import annotations

from typing import NoReturn

from gradwire.blocks.errors import BuildError

_NUMBERS = "Session(build(x)).run() gives the numbers"


class Unevaluated:
    """Says what to write in place of a length, a number, a truth value, an assignment, ….

    Defining all of these also keeps numpy from making an array of objects of an expression.
    """

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        self._refuse(
            "truth value",
            "Use where(condition, a, b), (0 < x) & (x < 1) for a range, and `a is b` to compare "
            "expressions instead of their numbers.",
        )

    def __len__(self) -> int:
        self._refuse("length", f"{_NUMBERS}; x[0], x[1], … and x.sum() need none.")

    def __contains__(self, item: object) -> NoReturn:
        self._refuse("elements", "Write any_true(x == 1) to search it for a number.")

    def __float__(self) -> NoReturn:
        self._refuse(
            "number", f"{_NUMBERS}; instead of a function of math use a block: exp(x), sqrt(x)."
        )

    def __int__(self) -> NoReturn:
        self._refuse("number", f'{_NUMBERS}; cast(x, dtype="int64") makes integers of it.')

    def __index__(self) -> NoReturn:
        self._refuse("number", "Write gather(values, x) to take elements by computed indices.")

    def __trunc__(self) -> NoReturn:
        self._refuse("number", 'Write cast(cast(x, dtype="int64"), dtype="float32") to truncate.')

    def __array__(self, *_: object, **__: object) -> NoReturn:
        self._refuse("array", f"{_NUMBERS}; stack(a, b) or concat(a, b) puts expressions together.")

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse("number to format", f"{_NUMBERS}.")
        return repr(self)

    def __floordiv__(self, other: object) -> NoReturn:
        raise BuildError(
            "There is no // of expressions.", next_step="Write floor(a / b) instead of a // b."
        )

    __rfloordiv__ = __floordiv__

    def __divmod__(self, other: object) -> NoReturn:
        raise BuildError(
            "There is no divmod of expressions.", next_step="Write floor(a / b) and a % b."
        )

    __rdivmod__ = __divmod__

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise BuildError(
            f"{self!r} can't be changed in place.",
            next_step="Write where(mask, value, x) to replace elements.",
        )

    def _refuse(self, what: str, instead: str) -> NoReturn:
        raise BuildError(
            f"{self!r} has no {what} yet: it is computed when the diagram runs.", next_step=instead
        )
