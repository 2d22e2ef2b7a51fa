"""A page and a JSON interface for people and programs on this machine."""
