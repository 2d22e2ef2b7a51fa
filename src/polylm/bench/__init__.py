"""How fast are things on this machine?"""
