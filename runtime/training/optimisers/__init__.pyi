from gradwire.runtime.training.optimisers.schedules import rate as rate
from gradwire.runtime.training.optimisers.stepping import (
    SGD as SGD,
    Adadelta as Adadelta,
    Adagrad as Adagrad,
    Adam as Adam,
    Adamax as Adamax,
    AdamW as AdamW,
    Lion as Lion,
    MethodOptimiser as MethodOptimiser,
    NAdam as NAdam,
    RAdam as RAdam,
    RMSprop as RMSprop,
)
