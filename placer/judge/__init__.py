"""The judge: every breach of a placement, and what the placement is worth (G6).

It has code of its own for every rule and tier, and no solver. It reads the solver's words, though:
`.importlinter` lists their modules, and each function of them that it calls is told a second time
in tests (`tests/house/test_judge_words.py`).
"""
