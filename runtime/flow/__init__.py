"""Why a wire carries a gradient or not: states, witnesses, cutters, repairs, sentences."""

from runtime.flow.analyse import Flow, analyse
from runtime.flow.badges import Badge, Mark, badges
from runtime.flow.numbers.gradient_check import Check, check_gradients
from runtime.flow.numbers.magnitudes import Settings
from runtime.flow.observed import Cancel, FlowRun, observe, read
from runtime.flow.tools.contracts import (
    Breach,
    Contract,
    Outcome,
    contracts_of,
    hold,
    needs_run,
    parse_contracts,
    unowned,
)
from runtime.flow.tools.dialects import Dialects, dialects
from runtime.flow.tools.doctor import Complaint, Finding, diagnose
from runtime.flow.tools.ledger import Account, LossMatrix, Row, account, ledger, loss_matrix
from runtime.flow.tools.repairs import Fix, fix, fixes, with_fix
from runtime.flow.tools.whatif import Comparison, Difference, WhatIf
from runtime.flow.words.states import PASSING, Cutter, State, Verdict

__all__ = [
    "PASSING",
    "Account",
    "Badge",
    "Breach",
    "Cancel",
    "Check",
    "Comparison",
    "Complaint",
    "Contract",
    "Cutter",
    "Dialects",
    "Difference",
    "Finding",
    "Fix",
    "Flow",
    "FlowRun",
    "LossMatrix",
    "Mark",
    "Outcome",
    "Row",
    "Settings",
    "State",
    "Verdict",
    "WhatIf",
    "account",
    "analyse",
    "badges",
    "check_gradients",
    "contracts_of",
    "diagnose",
    "dialects",
    "fix",
    "fixes",
    "hold",
    "ledger",
    "loss_matrix",
    "needs_run",
    "observe",
    "parse_contracts",
    "read",
    "unowned",
    "with_fix",
]
