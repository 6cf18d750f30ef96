"""The agent: takes the documents of a node, and keeps the node as the newest of them says (C19)."""
