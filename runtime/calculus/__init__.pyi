from gradwire.runtime.calculus.namespace import Namespace as Namespace
from gradwire.runtime.calculus.reverse import (
    BackwardRules as BackwardRules,
    passes_gradient as passes_gradient,
    sweep as sweep,
    unwrap as unwrap,
)
from gradwire.runtime.calculus.scan import Body as Body, result_of as result_of
from gradwire.runtime.calculus.trace import Trace as Trace
from gradwire.runtime.calculus.value import Primitive as Primitive, Value as Value
