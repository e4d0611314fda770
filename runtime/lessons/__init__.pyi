from gradwire.runtime.lessons.amounts import amount as amount
from gradwire.runtime.lessons.answers import (
    Answer as Answer,
    AnswerError as AnswerError,
    lesson_digest as lesson_digest,
)
from gradwire.runtime.lessons.breakpoints import (
    Breakpoint as Breakpoint,
    GradientExceeds as GradientExceeds,
    GradientReaches as GradientReaches,
    NotFinite as NotFinite,
)
from gradwire.runtime.lessons.conditions import (
    parse_condition as parse_condition,
    parse_goal as parse_goal,
)
from gradwire.runtime.lessons.course.checking import check_lesson as check_lesson
from gradwire.runtime.lessons.course.progress import (
    LessonProgress as LessonProgress,
    ProgressFile as ProgressFile,
    user_file as user_file,
)
from gradwire.runtime.lessons.derivative.card import (
    DerivativeCard as DerivativeCard,
    InputRule as InputRule,
    VectorJacobian as VectorJacobian,
    derivative_card as derivative_card,
)
from gradwire.runtime.lessons.derivative.local import port_name as port_name
from gradwire.runtime.lessons.expressions.facts import Facts as Facts, FlowFacts as FlowFacts
from gradwire.runtime.lessons.expressions.goals import (
    GoalState as GoalState,
    asked_about as asked_about,
    asked_in as asked_in,
    goal_states as goal_states,
    right_option as right_option,
    wrong_value as wrong_value,
)
from gradwire.runtime.lessons.expressions.grammar import ConditionError as ConditionError
from gradwire.runtime.lessons.expressions.wording import Trial as Trial
from gradwire.runtime.lessons.inside import PrimitiveForward as PrimitiveForward
from gradwire.runtime.lessons.misconceptions import NAMES as NAMES
from gradwire.runtime.lessons.notes import (
    asks as asks,
    note_text as note_text,
    note_trials as note_trials,
)
from gradwire.runtime.lessons.prediction import (
    MOST_ELEMENTS as MOST_ELEMENTS,
    MOST_POINTS as MOST_POINTS,
    Guess as Guess,
    PredictionOutcome as PredictionOutcome,
    guess_of as guess_of,
    judge as judge,
    judge_all as judge_all,
    painted_points as painted_points,
    read_numbers as read_numbers,
    read_state as read_state,
)
from gradwire.runtime.lessons.steps import ForwardStep as ForwardStep, Phase as Phase, Step as Step
from gradwire.runtime.lessons.texts import (
    MARKED as MARKED,
    filled as filled,
    parse_text as parse_text,
    unmarked as unmarked,
)
from gradwire.runtime.lessons.timeline import (
    Detail as Detail,
    Timeline as Timeline,
    record as record,
)
from gradwire.runtime.lessons.walk import Walk as Walk
from gradwire.runtime.lessons.words import sentence as sentence, short as short
