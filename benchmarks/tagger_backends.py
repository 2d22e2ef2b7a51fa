"""numpy, torch or numba for the small tagger? The same network in each, one thread, on the same text.

    pip install torch numba
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/tagger_backends.py DATA

Words a second, best of five, words known already; and the share of tags that equal numpy's, which must be all.
"""

import sys
import time
from pathlib import Path

import numba
import numpy as np
import torch
import torch.nn.functional as F
from tagger import read

from polylm.text.tagger import CompactTagger
from polylm.text.tokenizer import normalize


class TorchTagger(CompactTagger):
    """Torch's float32 kernels."""

    def _tag_block(self, rows):
        def activate(x, scale):
            return x.mul_(float(scale)).round_().clamp_(0, 127)

        def windows(x, width):
            return x.as_strided((len(x) - width + 1, width * x.shape[1]), x.stride())

        layers = [(torch.from_numpy(w).T, torch.from_numpy(b)) for w, b in self._layers[1:]]
        x = torch.from_numpy(self._vectors.take(rows, axis=0)).float()
        x = activate(F.linear(windows(x, 5), *layers[0]), self._scales[2])
        x = activate(F.linear(windows(x, 3), *layers[1]), self._scales[3])
        return F.linear(x, *layers[2]).argmax(dim=1).numpy()


@numba.njit(fastmath=True)
def layer(x, weight, bias, width):
    n, d = len(x) - width + 1, x.shape[1]
    out = np.empty((n, len(bias)), np.float32)
    for i in range(n):
        out[i] = bias
        for j in range(width):
            for c in range(d):
                value = x[i + j, c]
                if value != 0:
                    for k in range(len(bias)):
                        out[i, k] += value * weight[j * d + c, k]
    return out


class NumbaTagger(CompactTagger):
    """Compiled loops that leave out zeros."""

    def _tag_block(self, rows):
        def activate(x, scale):
            return np.clip(np.rint(x * scale), 0, 127)

        x = self._vectors.take(rows, axis=0).astype(np.float32)
        x = activate(layer(x, *self._layers[1], 5), self._scales[2])
        x = activate(layer(x, *self._layers[2], 3), self._scales[3])
        return layer(x, *self._layers[3], 1).argmax(axis=1)


def main() -> None:
    torch.set_num_threads(1)
    lines = read(Path(sys.argv[1]) / "tagging" / "brown.jsonl.xz")
    words = [normalize(word) for line in lines for word in line["w"]]
    lengths = np.array([len(line["w"]) for line in lines])
    expected = None
    for tagger in (CompactTagger(), TorchTagger(), NumbaTagger()):
        rows = np.array(tagger.rows(words))
        tags = tagger.tag_rows(rows, lengths)
        expected = tags if expected is None else expected
        best = float("inf")
        for _ in range(5):
            started = time.perf_counter()
            tagger.tag_rows(rows, lengths)
            best = min(best, time.perf_counter() - started)
        print(f"{type(tagger).__name__:14} {len(words) / best:>9,.0f} words/s  {(tags == expected).mean():.2%} equal")


if __name__ == "__main__":
    with torch.inference_mode():
        main()
