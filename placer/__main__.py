"""``python -m placer``: the command, wherever its script is not on the path."""

import sys
from importlib.metadata import entry_points

if __name__ == "__main__":
    # The library knows no command; what the package declares is asked.
    (command,) = entry_points(group="console_scripts", name="placer")
    sys.exit(command.load()())
