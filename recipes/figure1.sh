#!/usr/bin/env bash
# Figure 1 of the paper: words as they stand, small, 8 senses a word beside 1; five minutes of one GPU each.
#   recipes/figure1.sh TEXTS OUT [BUDGET]
set -euo pipefail
texts=$1 out=$2 budget=${3:-5m}
for k in 8 1; do
    [ -e "$out/corpus-$k/manifest.json" ] || polylm prepare "$texts" --out "$out/corpus-$k" --surface --senses $k --max-words 65500
    polylm train "$out/corpus-$k" --out "$out/small-$k" --size small --budget "$budget" --resume
done
polylm plot left right wrong east smith mason --model "$out/small-8" --single "$out/small-1" --out "$out/figure1.svg"
