"""The placer/v1 file: its schema, its reader, its writer and its messages."""
