"""``python -m lorekeeper``."""

from lorekeeper.cli.main import main

raise SystemExit(main())
