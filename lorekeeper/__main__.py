"""``python -m lorekeeper``."""

from lorekeeper.cli.commands import main

raise SystemExit(main())
