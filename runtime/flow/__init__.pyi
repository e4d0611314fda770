from gradwire.runtime.flow.analyse import Flow as Flow
from gradwire.runtime.flow.badges import (
    Badge as Badge,
    BadgeKind as BadgeKind,
    surrogate_badges as surrogate_badges,
)
from gradwire.runtime.flow.lazy import MANY as MANY, looked_up as looked_up
from gradwire.runtime.flow.numbers.gradient_check import (
    Check as Check,
    check_gradients as check_gradients,
)
from gradwire.runtime.flow.numbers.origins import Origin as Origin
from gradwire.runtime.flow.numbers.rules import (
    OLDER_THRESHOLDS as OLDER_THRESHOLDS,
    THRESHOLDS as THRESHOLDS,
    Thresholds as Thresholds,
)
from gradwire.runtime.flow.observed import Cancel as Cancel, ObservedFlow as ObservedFlow
from gradwire.runtime.flow.observing import (
    flow_of_run as flow_of_run,
    observe as observe,
    run_losses as run_losses,
)
from gradwire.runtime.flow.tools.causes import Cause as Cause, Victim as Victim, causes as causes
from gradwire.runtime.flow.tools.contracts import (
    EXAMPLE as EXAMPLE,
    Breach as Breach,
    Contract as Contract,
    Outcome as Outcome,
    check_contracts as check_contracts,
    contracts_of as contracts_of,
    needs_run as needs_run,
    parse_contracts as parse_contracts,
    unowned as unowned,
)
from gradwire.runtime.flow.tools.dialects import (
    Dialects as Dialects,
    OptimiserFate as OptimiserFate,
    dialects as dialects,
)
from gradwire.runtime.flow.tools.doctor import diagnose as diagnose, reassurance as reassurance
from gradwire.runtime.flow.tools.effects import Effect as Effect, Effects as Effects
from gradwire.runtime.flow.tools.findings import Finding as Finding
from gradwire.runtime.flow.tools.interventions import (
    Bridge as Bridge,
    CloseStop as CloseStop,
    CutWire as CutWire,
    Freeze as Freeze,
    Intervention as Intervention,
    OpenStop as OpenStop,
    Train as Train,
    change_of as change_of,
    open_stops as open_stops,
)
from gradwire.runtime.flow.tools.ledger import (
    Account as Account,
    LedgerEntry as LedgerEntry,
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
from gradwire.runtime.flow.words.formatting import (
    DIGITS as DIGITS,
    number as number,
    share as share,
    size as size,
    wild as wild,
)
from gradwire.runtime.flow.words.states import (
    PASSING as PASSING,
    STATES as STATES,
    ColourRole as ColourRole,
    Complaint as Complaint,
    Cutter as Cutter,
    Form as Form,
    State as State,
    Verdict as Verdict,
)
