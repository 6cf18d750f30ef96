"""Placement of pods and gangs on the insides of machines: solved, proven, judged."""
