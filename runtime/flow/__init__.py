"""Explains which wires carry gradient and why: states, witnesses, cutters, repairs, sentences."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.badges import Badge, Mark
    from gradwire.runtime.flow.numbers.gradient_check import Check, check_gradients
    from gradwire.runtime.flow.numbers.origins import Origin
    from gradwire.runtime.flow.numbers.rules import Thresholds
    from gradwire.runtime.flow.observed import Cancel, ObservedFlow
    from gradwire.runtime.flow.observing import flow_of_run, observe
    from gradwire.runtime.flow.tools.causes import Cause, causes
    from gradwire.runtime.flow.tools.contracts import (
        Breach,
        Contract,
        Outcome,
        check_contracts,
        contracts_of,
        needs_run,
        parse_contracts,
        unowned,
    )
    from gradwire.runtime.flow.tools.dialects import Dialects, dialects
    from gradwire.runtime.flow.tools.doctor import diagnose, reassurance
    from gradwire.runtime.flow.tools.findings import Finding
    from gradwire.runtime.flow.tools.ledger import (
        Account,
        Entry,
        LossMatrix,
        account,
        ledger,
        loss_matrix,
    )
    from gradwire.runtime.flow.tools.repairs import Fix, fix, fixes, with_fix
    from gradwire.runtime.flow.tools.whatif import Comparison, Difference, WhatIf
    from gradwire.runtime.flow.words.states import PASSING, Complaint, Cutter, State, Verdict

__all__ = [
    "PASSING",
    "Account",
    "Badge",
    "Breach",
    "Cancel",
    "Cause",
    "Check",
    "Comparison",
    "Complaint",
    "Contract",
    "Cutter",
    "Dialects",
    "Difference",
    "Entry",
    "Finding",
    "Fix",
    "Flow",
    "LossMatrix",
    "Mark",
    "ObservedFlow",
    "Origin",
    "Outcome",
    "State",
    "Thresholds",
    "Verdict",
    "WhatIf",
    "account",
    "causes",
    "check_contracts",
    "check_gradients",
    "contracts_of",
    "diagnose",
    "dialects",
    "fix",
    "fixes",
    "flow_of_run",
    "ledger",
    "loss_matrix",
    "needs_run",
    "observe",
    "parse_contracts",
    "reassurance",
    "unowned",
    "with_fix",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "analyse": "Flow",
        "badges": "Badge Mark",
        "numbers.gradient_check": "Check check_gradients",
        "numbers.origins": "Origin",
        "numbers.rules": "Thresholds",
        "observed": "Cancel ObservedFlow",
        "observing": "flow_of_run observe",
        "tools.causes": "Cause causes",
        "tools.contracts": "Breach Contract Outcome check_contracts contracts_of needs_run "
        "parse_contracts unowned",
        "tools.dialects": "Dialects dialects",
        "tools.doctor": "diagnose reassurance",
        "tools.findings": "Finding",
        "tools.ledger": "Account Entry LossMatrix account ledger loss_matrix",
        "tools.repairs": "Fix fix fixes with_fix",
        "tools.whatif": "Comparison Difference WhatIf",
        "words.states": "PASSING Complaint Cutter State Verdict",
    },
)
