"""Bin packing over vectors of whole numbers: fewest bins, patterns, prices; no pods, no nodes."""
