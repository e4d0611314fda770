"""Runs the command ``gradwire`` as ``python -m gradwire``."""

import sys

from gradwire_command import main

sys.exit(main())
