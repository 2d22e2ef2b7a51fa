#!/usr/bin/env bash
# The small English model: ten minutes of one H200.   recipes/train_small.sh TEXTS OUT [more options of polylm train]
set -euo pipefail
texts=$1 out=$2
shift 2
[ -e "$out/corpus/manifest.json" ] || polylm prepare "$texts" --out "$out/corpus" --max-words 65500
polylm train "$out/corpus" --out "$out/small" --size small --budget 10m --resume "$@"
