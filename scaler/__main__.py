"""Run the command line as `python -m scaler`."""

import sys

from scaler.cli import entry

sys.exit(entry())
