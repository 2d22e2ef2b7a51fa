#!/usr/bin/env bash
# The base English model, as it is bundled: 22 minutes of one H200.
#   recipes/train_base.sh TEXTS OUT [more options of polylm train]
exec "$(dirname "$0")/train.sh" base 22m "$1" "$2" --set mask_rate_start=0.3 "${@:3}"
