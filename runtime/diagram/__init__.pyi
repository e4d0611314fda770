from gradwire.blocks.names import (
    NAME_RULE as NAME_RULE,
    fresh_names as fresh_names,
    is_name as is_name,
)
from gradwire.runtime.diagram.checks.checks import check as check
from gradwire.runtime.diagram.checks.diagnostics import (
    Diagnostic as Diagnostic,
    Severity as Severity,
)
from gradwire.runtime.diagram.edits.applying import (
    Edit as Edit,
    apply as apply,
    can_connect as can_connect,
)
from gradwire.runtime.diagram.edits.changes import (
    AddBlock as AddBlock,
    Arrange as Arrange,
    Batch as Batch,
    BendWire as BendWire,
    Change as Change,
    Connect as Connect,
    Disconnect as Disconnect,
    InsertPage as InsertPage,
    MoveBlocks as MoveBlocks,
    RemoveBlocks as RemoveBlocks,
    RemovePage as RemovePage,
    RenameBlock as RenameBlock,
    RenamePage as RenamePage,
    SetLesson as SetLesson,
    SetNote as SetNote,
    SetParameters as SetParameters,
    SetTitle as SetTitle,
    SetTraining as SetTraining,
    SetViews as SetViews,
    StyleBlocks as StyleBlocks,
)
from gradwire.runtime.diagram.edits.grouping import (
    copied_page as copied_page,
    group as group,
    new_page as new_page,
    own_page as own_page,
    page_of as page_of,
    uses as uses,
)
from gradwire.runtime.diagram.edits.ungrouping import unfold as unfold, ungroup as ungroup
from gradwire.runtime.diagram.files.schema import json_schema as json_schema
from gradwire.runtime.diagram.files.storage import (
    Pulse as Pulse,
    dumps as dumps,
    load as load,
    loads as loads,
    save as save,
)
from gradwire.runtime.diagram.layout.arranging import arrange as arrange
from gradwire.runtime.diagram.model import (
    MAIN as MAIN,
    Diagram as Diagram,
    Note as Note,
    Page as Page,
    Point as Point,
    Ports as Ports,
    Style as Style,
    View as View,
    Wire as Wire,
    ports as ports,
    same_meaning as same_meaning,
)
from gradwire.runtime.diagram.names import fresh_name as fresh_name
from gradwire.runtime.diagram.paths import (
    ROOT as ROOT,
    InstancePath as InstancePath,
    PortName as PortName,
    PortPath as PortPath,
    WirePath as WirePath,
)
