"""Run the command line with `python -m winosmith`."""

import sys

from winosmith.cli import main

sys.exit(main())
