from gradwire.runtime.watch.entry import watch as watch, why as why
from gradwire.runtime.watch.reasons import (
    Found as Found,
    NotFiniteError as NotFiniteError,
    Trouble as Trouble,
)
from gradwire.runtime.watch.report import Report as Report, ParameterRow as ParameterRow
