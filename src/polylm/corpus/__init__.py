"""Text at scale to training data. `shards` needs numpy alone; the rest needs `polylm.text`."""
