from gradwire.runtime.engine.compilation import Compilation as Compilation, listening as listening
from gradwire.runtime.engine.lowering import lower as lower
from gradwire.runtime.engine.session.session import Optimiser as Optimiser
from gradwire.runtime.engine.plan.sparse_rows import SparseRows as SparseRows
from gradwire.runtime.engine.program import Program as Program
from gradwire.runtime.engine.session.run import Run as Run, InferredShapes as InferredShapes
from gradwire.runtime.engine.session.session import Session as Session
