"""What the folder of a model holds: read whole, written whole."""
