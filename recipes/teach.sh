#!/usr/bin/env bash
# Teach a finished model to read words that are not masked, as the bundled one was: 13 minutes of one H200.
#   recipes/teach.sh MODEL TEXTS OUT [more options of polylm train]
# The model is OUT/model, with the senses, keys and granularity that it had.
set -euo pipefail
model=$1 texts=$2 out=$3
shift 3
[ -e "$out/corpus/manifest.json" ] || polylm prepare "$texts" --vocabulary "$model" --out "$out/corpus"
polylm train "$out/corpus" --init "$model" --out "$out/taught" --budget 13m --resume \
  --set reading_share=1 --set batch_tokens=32768 "$@"
python - "$out/taught" "$out/model" <<'EOF'
import sys

import polylm

model = polylm.load(sys.argv[1], device="cpu")
model.save_pretrained(sys.argv[2], precision="int6", labels=True)
EOF
