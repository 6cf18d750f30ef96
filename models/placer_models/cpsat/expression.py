"""Expressions: the values that rules and goals are written in."""

from ortools.sat.python.cp_model import LinearExpr

Expression = LinearExpr | int
"""A linear expression, or a plain number where the value is known beforehand."""
