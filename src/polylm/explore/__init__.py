"""Senses in the hands of people."""
