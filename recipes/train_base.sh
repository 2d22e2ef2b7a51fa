#!/usr/bin/env bash
# The base English model: 22 minutes of one H200, from the first step to the last.   recipes/train_base.sh TEXTS OUT [more options of polylm train]
# As in the paper, the words of the two SemEval tasks (focus.txt) are among those that may have several senses.
set -euo pipefail
texts=$1 out=$2
shift 2
focus="$(dirname "$0")/focus.txt"
[ -e "$out/corpus/manifest.json" ] || polylm prepare "$texts" --out "$out/corpus" --focus "$focus" --max-words 65500
polylm train "$out/corpus" --out "$out/base" --size base --budget 22m --resume "$@"
