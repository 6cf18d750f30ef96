"""Changes to an instance: one language of what-if, each change a pure function of instances."""
