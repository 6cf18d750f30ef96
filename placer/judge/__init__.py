"""The judge: every breach of a placement, and what the placement is worth."""
