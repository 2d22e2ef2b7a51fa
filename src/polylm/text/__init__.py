"""Raw text to what the model reads."""
