"""``python -m gradwire.runtime.cli``: the command without its entry point."""

import sys

from gradwire.runtime.cli.entry import main

sys.exit(main())
