"""Files as they were written: documents, positions, faults in one message each; of no kind yet."""
