"""``python -m placer``: the command, wherever its script is not on the path."""

import sys

from placer_cli.app import main

if __name__ == "__main__":
    sys.exit(main())
