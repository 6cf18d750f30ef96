"""The node's side: a placement written into the kernel's control groups, and kept there."""
