"""Operator slots: what a dataflow job needs, compiled into slots and memory fractions."""
