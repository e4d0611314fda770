from gradwire.runtime.flow.analyse import Flow as Flow
from gradwire.runtime.flow.badges import Badge as Badge, Mark as Mark
from gradwire.runtime.flow.numbers.gradient_check import (
    Check as Check,
    check_gradients as check_gradients,
)
from gradwire.runtime.flow.numbers.origins import Origin as Origin
from gradwire.runtime.flow.numbers.rules import Thresholds as Thresholds
from gradwire.runtime.flow.observed import Cancel as Cancel, ObservedFlow as ObservedFlow
from gradwire.runtime.flow.observing import flow_of_run as flow_of_run, observe as observe
from gradwire.runtime.flow.tools.causes import Cause as Cause, causes as causes
from gradwire.runtime.flow.tools.contracts import (
    Breach as Breach,
    Contract as Contract,
    Outcome as Outcome,
    check_contracts as check_contracts,
    contracts_of as contracts_of,
    needs_run as needs_run,
    parse_contracts as parse_contracts,
    unowned as unowned,
)
from gradwire.runtime.flow.tools.dialects import Dialects as Dialects, dialects as dialects
from gradwire.runtime.flow.tools.doctor import diagnose as diagnose, reassurance as reassurance
from gradwire.runtime.flow.tools.findings import Finding as Finding
from gradwire.runtime.flow.tools.ledger import (
    Account as Account,
    Entry as Entry,
    LossMatrix as LossMatrix,
    account as account,
    ledger as ledger,
    loss_matrix as loss_matrix,
)
from gradwire.runtime.flow.tools.repairs import (
    Fix as Fix,
    fix as fix,
    fixes as fixes,
    with_fix as with_fix,
)
from gradwire.runtime.flow.tools.whatif import (
    Comparison as Comparison,
    Difference as Difference,
    WhatIf as WhatIf,
)
from gradwire.runtime.flow.words.states import (
    PASSING as PASSING,
    Complaint as Complaint,
    Cutter as Cutter,
    State as State,
    Verdict as Verdict,
)
