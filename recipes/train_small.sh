#!/usr/bin/env bash
# The small English model: 10 minutes of one H200.
#   recipes/train_small.sh TEXTS OUT [more options of polylm train]
exec "$(dirname "$0")/train.sh" small 10m "$1" "$2" --set mask_rate_start=0.3 "${@:3}"
