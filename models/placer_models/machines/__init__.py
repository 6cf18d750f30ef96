"""Machines: a catalogue of real ones, and readers that make one from text."""
