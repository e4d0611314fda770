"""Annotations that pydantic need not evaluate again."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


def forget_class_vars(cls: type[BaseModel]) -> None:
    """Drop annotations of a class that are known as no fields; they would be evaluated for it, if
    they are of its bases, and for each subclass.
    """
    own = inspect.get_annotations(cls)
    for name in own.keys() & cls.__class_vars__:
        if "ClassVar" in str(own[name]):
            del cls.__annotations__[name]
