"""polylm in other systems, each behind an extra of its own."""
