"""``python -m lorekeeper``."""

from lorekeeper.cli import main

raise SystemExit(main())
