"""From prepared text to a model: batches on the device, schedules, the split, checkpoints that survive anything."""
