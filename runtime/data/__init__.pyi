from gradwire.runtime.data.files.access import (
    allow_data as allow_data,
    allowed_data as allowed_data,
    keep_allowed as keep_allowed,
)
from gradwire.runtime.data.files.archives import MAX_MEMBERS as MAX_MEMBERS
from gradwire.runtime.data.files.suggesting import (
    KINDS as KINDS,
    kind_of as kind_of,
    suggested as suggested,
)
from gradwire.runtime.data.files.zips import require_few as require_few
from gradwire.runtime.data.progress import listening as listening
from gradwire.runtime.data.rows import DataRows as DataRows
from gradwire.runtime.data.summaries import (
    TEXT as TEXT,
    ColumnSummary as ColumnSummary,
    summarised as summarised,
)
