"""Lines of text, and a way to compare folders."""

import random
from pathlib import Path

SENTENCES = [
    "The bank's managers weren't going to raise the rates again, he said.",
    "She sat on the bank of the river and watched the boats go by.",
    "“It’s the best of times,” they wrote — the worst, too — in the 1990s.",
    "Dr. J. Smith paid $1,000.50 for 3 well-known paintings (see www.example.org).",
    "Older mice ran faster than the youngest cats; leaves were falling.",
    "Café owners in the U.S. can't agree: isn't that what naïve people think?",
    "Über die Brücken gingen sie; 日本 and हिन्दी were written on the wall!!!",
]


def make_lines(n_lines: int, seed: int = 0) -> list[str]:
    """Lines of one to four sentences with some invented words, so that no two chunks are alike."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n_lines):
        parts = rng.choices(SENTENCES, k=rng.randint(1, 4))
        parts.append("The " + "".join(rng.choices("abcdeiou", k=rng.randint(3, 8))) + "s fell.")
        lines.append(" ".join(parts))
    return lines


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
