"""``placer plan``: what to buy.

Each command reads, calls, prints and chooses an exit code; `drawn` draws.
"""
