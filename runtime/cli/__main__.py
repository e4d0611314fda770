"""``python -m runtime.cli``: the command without its entry point."""

import sys

from runtime.cli.entry import main

sys.exit(main())
