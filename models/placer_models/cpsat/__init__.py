"""CP-SAT models over a Problem: variables, one file per family of rules, goals."""
