"""`python -m multihop` is the command `multihop`."""

from __future__ import annotations

import sys

from multihop._cli import main

sys.exit(main())
