"""`python -m winosmith` is the command `winosmith`."""

import sys

from winosmith.cli import main

sys.exit(main())
