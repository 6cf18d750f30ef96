"""Pictures and tables of machines, clusters and placements, drawn by Rich."""
