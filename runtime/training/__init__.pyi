from gradwire.runtime.training.alarms import Alarm as Alarm
from gradwire.runtime.training.course import LIMIT as LIMIT, Ring as Ring, stored as stored
from gradwire.runtime.training.curves import (
    Points as Points,
    CurveRecording as CurveRecording,
    csv_of as csv_of,
)
from gradwire.runtime.training.optimisers import SGD as SGD, rate as rate
from gradwire.runtime.training.process.following import FollowedCourse as FollowedCourse
from gradwire.runtime.training.process.messages import (
    Begin as Begin,
    Drop as Drop,
    Edit as Edit,
    Forget as Forget,
    Frame as Frame,
    Go as Go,
    Lane as Lane,
    PlayPace as PlayPace,
    Play as Play,
    CoursesReport as CoursesReport,
    States as States,
    Stop as Stop,
    Take as Take,
    WantFrame as WantFrame,
)
from gradwire.runtime.training.process.process import (
    PROCESSES as PROCESSES,
    CourseProcess as CourseProcess,
    Ended as Ended,
)
from gradwire.runtime.training.recipe import (
    FieldPath as FieldPath,
    RecipeRemark as RecipeRemark,
    examine as examine,
    variables_of as variables_of,
)
from gradwire.runtime.training.saving.checkpoint import TrainerState as TrainerState
from gradwire.runtime.training.saving.reading import read_recordings as read_recordings
from gradwire.runtime.training.studies.files import load_study as load_study
from gradwire.runtime.training.studies.variants import with_variant as with_variant
