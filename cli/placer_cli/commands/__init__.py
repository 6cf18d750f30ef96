"""One module a command: read, call, print, choose an exit code."""
