"""Why a wire carries a gradient or not: states, witnesses, cutters, repairs, sentences."""

from runtime.flow.analyse import Flow, analyse
from runtime.flow.fixing import Fix, fix, with_fix
from runtime.flow.reading import Cancel, FlowRun, observe, read
from runtime.flow.sizes import Settings
from runtime.flow.states import Cutter, State, Verdict

__all__ = [
    "Cancel",
    "Cutter",
    "Fix",
    "Flow",
    "FlowRun",
    "Settings",
    "State",
    "Verdict",
    "analyse",
    "fix",
    "observe",
    "read",
    "with_fix",
]
