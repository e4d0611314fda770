"""Runs the command ``gradwire`` as ``python -m gradwire``."""

import sys

from runtime.cli import main

sys.exit(main())
