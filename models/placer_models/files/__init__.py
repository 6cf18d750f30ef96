"""Files as they were written: documents of any kind, positions, and one message per fault."""
