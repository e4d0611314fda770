from gradwire.runtime.engine.plan.native.functions.powers import is_simple as is_simple
from gradwire.runtime.engine.plan.native.kernels import Kernel as Kernel, Operation as Operation
from gradwire.runtime.engine.plan.native.machine import address as address, installed as installed
from gradwire.runtime.engine.plan.native.operations import (
    compiles as compiles,
    native_name as native_name,
)
from gradwire.runtime.engine.plan.native.straight import (
    Line as Line,
    compiled_straight as compiled_straight,
    compiles_straight as compiles_straight,
)
