from gradwire.runtime.views.axes import Axis as Axis, Floats as Floats
from gradwire.runtime.views.colours import (
    FIRST as FIRST,
    LAST as LAST,
    NOT_FINITE as NOT_FINITE,
    Colour as Colour,
    Table as Table,
)
from gradwire.runtime.views.field import choices as choices
from gradwire.runtime.views.pictures import (
    FieldPicture as FieldPicture,
    HistogramPicture as HistogramPicture,
    ImagePicture as ImagePicture,
    Line as Line,
    PointMarks as PointMarks,
    NoPicture as NoPicture,
    Picture as Picture,
    PlotPicture as PlotPicture,
    Scale as Scale,
    ScatterPicture as ScatterPicture,
)
from gradwire.runtime.views.plot import RecordedNumbers as RecordedNumbers
from gradwire.runtime.views.views import Views as Views
