"""Text and a network in, distributions over senses out. It knows no `Model`."""
