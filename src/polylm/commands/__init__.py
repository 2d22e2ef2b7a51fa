"""The command line: a file a command or a small family. Each parses, asks, calls and prints."""
