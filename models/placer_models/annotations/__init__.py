"""Koordinator's annotations as words: read from pods, and written to them (C14, D11)."""
