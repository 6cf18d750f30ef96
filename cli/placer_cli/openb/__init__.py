"""Commands about the openb trace: ``placer bench openb`` and ``placer convert openb``."""
