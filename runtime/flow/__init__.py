"""Why a wire carries a gradient or not: states, witnesses, cutters, repairs, sentences."""

from runtime.flow.analyse import Flow, analyse
from runtime.flow.fixing import Fix, fix, with_fix
from runtime.flow.ledger import Account, LossMatrix, Row, ledger, loss_matrix
from runtime.flow.reading import Cancel, FlowRun, observe, read
from runtime.flow.sizes import Settings
from runtime.flow.states import Cutter, State, Verdict
from runtime.flow.whatif import Comparison, Difference, WhatIf

__all__ = [
    "Account",
    "Cancel",
    "Comparison",
    "Cutter",
    "Difference",
    "Fix",
    "Flow",
    "FlowRun",
    "LossMatrix",
    "Row",
    "Settings",
    "State",
    "Verdict",
    "WhatIf",
    "analyse",
    "fix",
    "ledger",
    "loss_matrix",
    "observe",
    "read",
    "with_fix",
]
