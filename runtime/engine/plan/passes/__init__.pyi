from gradwire.runtime.engine.plan.passes.late import (
    DEFAULT as DEFAULT,
    FAST as FAST,
    Pass as Pass,
    select_passes as select_passes,
)
