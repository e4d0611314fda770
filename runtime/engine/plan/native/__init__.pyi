from gradwire.runtime.engine.plan.native.functions import is_simple as is_simple
from gradwire.runtime.engine.plan.native.machine import (
    Kernel as Kernel,
    address as address,
    installed as installed,
)
from gradwire.runtime.engine.plan.native.operations import (
    Line as Line,
    Operation as Operation,
    compiled_straight as compiled_straight,
    compiles as compiles,
    compiles_straight as compiles_straight,
    native_name as native_name,
)
