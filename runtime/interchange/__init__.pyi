from gradwire.runtime.interchange.export.source import (
    ENDINGS as ENDINGS,
    exported_files as exported_files,
)
from gradwire.runtime.interchange.importing.formats import (
    FORMATS as FORMATS,
    endings as endings,
    is_model as is_model,
)
from gradwire.runtime.interchange.importing.imported import (
    Imported as Imported,
    Remark as Remark,
    RemarkKind as RemarkKind,
)
from gradwire.runtime.interchange.importing.options import (
    DEFAULTS as DEFAULTS,
    ImportOptions as ImportOptions,
    parse_shape as parse_shape,
)
from gradwire.runtime.interchange.importing.process import import_apart as import_apart
