"""The paper, and nothing else: torch and numpy are all it needs."""
