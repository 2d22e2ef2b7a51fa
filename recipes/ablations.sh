#!/usr/bin/env bash
# Table 3 of the paper: small, all senses from the first step, the same budget each.
#   recipes/ablations.sh CORPUS OUT [BUDGET] [more options of polylm train]
set -euo pipefail
corpus=$1 out=$2 budget=${3:-4m}
shift $(($# < 3 ? $# : 3))
train() {
    local name=$1
    shift
    polylm train "$corpus" --out "$out/$name" --size small --budget "$budget" --set start=senses --resume "$@"
}
train full "$@"
train no-distinctness --set distinctness=false "$@"
train no-disambiguation --set disambiguation=false "$@"
# "Disambiguation layer only" is a read-out of the full model: polylm eval … --source disambiguation
