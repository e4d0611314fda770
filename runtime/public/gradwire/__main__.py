"""``python -m gradwire``: the command ``gradwire`` without its entry point."""

import sys

from runtime.cli import main

sys.exit(main())
