#!/usr/bin/env bash
# An English model: prepare, then train; both go on where they were stopped.
#   recipes/train.sh SIZE BUDGET TEXTS OUT [more options of polylm train]
# As in the paper, the words of the two SemEval tasks (focus.txt) are among those that may have several senses.
set -euo pipefail
size=$1 budget=$2 texts=$3 out=$4
shift 4
focus="$(dirname "$0")/focus.txt"
[ -e "$out/corpus/manifest.json" ] || polylm prepare "$texts" --out "$out/corpus" --focus "$focus" --max-words 65500
polylm train "$out/corpus" --out "$out/$size" --size "$size" --budget "$budget" --resume "$@"
