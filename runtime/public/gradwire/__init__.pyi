"""The public interface: what it exports, for it and for type checkers and editors."""

from collections.abc import Callable

from gradwire.blocks import Block as Block, InputPort as InputPort
from gradwire.blocks.errors import (
    BlockDefinitionError as BlockDefinitionError,
    BlockError as BlockError,
    BuildError as BuildError,
    ChangeError as ChangeError,
    DiagramError as DiagramError,
    DTypeError as DTypeError,
    FeedError as FeedError,
    FileError as FileError,
    GradwireError as GradwireError,
    HeadError as HeadError,
    LimitError as LimitError,
    Location as Location,
    NotRunnableError as NotRunnableError,
    ParameterError as ParameterError,
    RunError as RunError,
    ShapeError as ShapeError,
    TraceError as TraceError,
    UnknownBlockError as UnknownBlockError,
)
from gradwire.blocks.registry import registry as registry
from gradwire.runtime.build import (
    Expression as Expression,
    block as block,
    build as build,
    cond as cond,
    constant as constant,
    input as input,
    loss as loss,
    own as own,
    page as page,
    scan as scan,
    stop_gradient as stop_gradient,
    variable as variable,
)
from gradwire.runtime.calculus.namespace import Namespace as Namespace
from gradwire.runtime.calculus.value import Value as Value
from gradwire.runtime.data.files.access import allow_data as allow_data
from gradwire.runtime.diagram import (
    Diagnostic as Diagnostic,
    Diagram as Diagram,
    Page as Page,
    arrange as arrange,
    check as check,
    dumps as dumps,
    json_schema as json_schema,
    load as load,
    loads as loads,
    save as save,
)
from gradwire.runtime.diagram.optimisers import (
    AdadeltaMethod as AdadeltaMethod,
    AdagradMethod as AdagradMethod,
    AdamaxMethod as AdamaxMethod,
    AdamMethod as AdamMethod,
    AdamWMethod as AdamWMethod,
    LionMethod as LionMethod,
    NAdamMethod as NAdamMethod,
    RAdamMethod as RAdamMethod,
    RMSpropMethod as RMSpropMethod,
    SGDMethod as SGDMethod,
)
from gradwire.runtime.diagram.training import (
    Average as Average,
    Clip as Clip,
    ConstantSchedule as ConstantSchedule,
    CosineSchedule as CosineSchedule,
    ExponentialSchedule as ExponentialSchedule,
    Group as Group,
    OptimiserRule as OptimiserRule,
    StepSchedule as StepSchedule,
    Training as Training,
    WarmupCosineSchedule as WarmupCosineSchedule,
)
from gradwire.runtime.engine import (
    Optimiser as Optimiser,
    Program as Program,
    Run as Run,
    Session as Session,
    SparseRows as SparseRows,
)
from gradwire.runtime.flow import (
    Comparison as Comparison,
    Contract as Contract,
    Difference as Difference,
    Finding as Finding,
    Fix as Fix,
    Flow as Flow,
    LossMatrix as LossMatrix,
    ObservedFlow as ObservedFlow,
    Outcome as Outcome,
    State as State,
    Thresholds as Thresholds,
    Verdict as Verdict,
    WhatIf as WhatIf,
    check_contracts as check_contracts,
    check_gradients as check_gradients,
    contracts_of as contracts_of,
    diagnose as diagnose,
    dialects as dialects,
    fix as fix,
    fixes as fixes,
    loss_matrix as loss_matrix,
    observe as observe,
    parse_contracts as parse_contracts,
)
from gradwire.runtime.flow.analyse import analyse as analyse
from gradwire.runtime.interchange.importing.capturing import capture as capture
from gradwire.runtime.interchange.importing.imported import (
    Imported as Imported,
    Remark as Remark,
    UnsupportedError as UnsupportedError,
)
from gradwire.runtime.interchange.importing.process import import_model as import_model
from gradwire.runtime.publish.living.publishing import publish as publish
from gradwire.runtime.recurrent import gru as gru, lstm as lstm, rnn as rnn
from gradwire.runtime.training.records import (
    DivergedError as DivergedError,
    OptimiserRecord as OptimiserRecord,
    StepRecord as StepRecord,
)
from gradwire.runtime.training.history import History as History
from gradwire.runtime.training.optimisers import (
    SGD as SGD,
    Adadelta as Adadelta,
    Adagrad as Adagrad,
    Adam as Adam,
    Adamax as Adamax,
    AdamW as AdamW,
    Lion as Lion,
    NAdam as NAdam,
    RAdam as RAdam,
    RMSprop as RMSprop,
)
from gradwire.runtime.training.saving.checkpoint import (
    TrainerState as TrainerState,
    load_checkpoint as load_checkpoint,
    save_checkpoint as save_checkpoint,
)
from gradwire.runtime.training.saving.runs import TrainingRun as TrainingRun
from gradwire.runtime.training.trainer import Trainer as Trainer
from gradwire.runtime.version import __version__ as __version__
from gradwire.runtime.watch import (
    Found as Found,
    NotFiniteError as NotFiniteError,
    Report as Report,
    watch as watch,
    why as why,
)

def __getattr__(name: str) -> Callable[..., Expression]: ...  # one for each installed block
