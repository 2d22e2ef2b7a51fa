"""Penn-style word tokens with character offsets back into the text.

Text is cut at white space into pieces, and each piece into tokens by one regular expression. A token never crosses
white space and never depends on the neighbouring pieces, so a piece seen before can be looked up instead of cut again
(`analyzer.py` does), a long line can be cut between any two words, and the time is linear in the text. A token is a
slice of the source; what the model reads for it, with quotes, dashes and treebank escapes made uniform, is its `norm`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import regex

from polylm.errors import UserError


class Token(NamedTuple):
    """One word or mark: `text` is the source from `start` to `end`, `norm` what the model reads (case kept)."""

    text: str
    start: int
    end: int
    norm: str


_JOINERS = "\u00ad\u200b\u200c\u200d\u2060\ufeff"  # soft hyphen, zero-width marks: inside words, never read
_APOSTROPHES = "'\u2019\u02bc\uff07"
_SINGLE_QUOTES = "'`\u2018\u2019\u201a\u201b\u2032\u2039\u203a\uff07"
_DOUBLE_QUOTES = '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02'
_DASHES = "\\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"

_LETTER = rf"[\p{{L}}\p{{M}}\p{{Nl}}\p{{No}}{_JOINERS}]"
_CHARACTER = rf"[\p{{L}}\p{{M}}\p{{N}}{_JOINERS}]"
_WORD = rf"{_LETTER}{_CHARACTER}*+"
_END = rf"(?!{_CHARACTER})"
_APOSTROPHE = f"[{_APOSTROPHES}]"
_CLITIC = rf"(?i:{_APOSTROPHE}(?:s|m|d|re|ve|ll)){_END}"
_NOT = rf"(?i:n{_APOSTROPHE}t){_END}"

_ABBREVIATIONS = (
    "Mr Mrs Ms Messrs Dr Drs Prof Rev Hon Gen Col Maj Capt Cmdr Lt Sgt Cpl Sen Reps? Gov Pres Supt St Ste Mt Ft Ave "
    "Blvd Jr Sr Esq Inc Corp Cos? Ltd Bros Jan Feb Apr Aug Sept? Oct Nov Dec Tues? Thurs? vs v etc al cf viz ca "
    "approx dept [Ff]igs? Eqs? Nos pp? [Vv]ols? Univ Dist Assn Calif Conn Fla Ill Mass Mich Minn Okla Penn Tenn Tex Va "
    "Wash Wis"
).replace(" ", "|")

# Each alternative consumes what it scanned, or scans a bounded number of words: linear on any piece.
_TOKEN = regex.compile(
    rf"""
      -[LR][RCS]B-                                                  # treebank brackets: -LRB-
    | ^/[.?](?=$|\[)                                                # treebank marks: /.  /?
    | (?:https?|ftp)://[^<>"]*[\w/] | www\.[^<>"]*[\w/]             # addresses
    | [\w.+\-]{{1,64}}@[\w\-]{{1,63}}(?:\.[\w\-]{{1,63}})+          # mail
    | (?:{_WORD}[.\-]){{1,6}}(?:com|org|net|edu|gov|io|co\.uk){_END}    # wikipedia.org
    | (?:\p{{L}}\.)++\p{{L}}{_END}(?!\.) | (?:\p{{L}}\.){{2,}}+     # U.S.A  U.S.  e.g.  p.m.
    | (?:{_ABBREVIATIONS}|[A-HJ-Z])\.(?=$|[^\w.]) | Ph\.D\.?        # Mr.  etc.  initials, but I. ends a sentence
    | \p{{Lu}}{{1,4}}&\p{{Lu}}{{1,4}}{_END}                         # AT&T
    | (?i:can(?=not{_END})|(?:gon|wan)(?=na{_END})|got(?=ta{_END})|(?:gim|lem)(?=me{_END}))
    | {_LETTER}{_CHARACTER}*?(?={_NOT}) | {_NOT}                    # do|n't
    | {_WORD}(?:{_APOSTROPHE}{_WORD})*?(?={_CLITIC}|(?!{_APOSTROPHE}{_LETTER}))   # bank|'s  o'clock
    | {_CLITIC}
    | {_APOSTROPHE}(?:(?i:em|til|cause|bout|round|n|tis|twas){_END}|\d\d(?=s?{_END})s?)    # 'em  '90s
    | (?<![\w.])\.\d++ | \d++(?:[.,:/]\d++)*+{_LETTER}*+            # .5  1,000.5  10:30  1/2  1990s
    | \.{{2,}}+ | \u2026++ | [{_DASHES}]++                          # ellipses and dashes of any length
    | `` | ''                                                       # treebank quotes
    | ([!?=*_~\#+|^])\1*+                                           # a row of one mark is one token
    | \p{{RI}}{{1,2}}                                                 # flags
    | \X                                                            # any other sign, with what hangs on it
    """,
    regex.VERBOSE,
)

MAX_NORMALIZED = 1000  # no longer token is a word; and Unicode's reordering of marks takes quadratic time

_TREEBANK = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "/.": ".", "/?": "?",
    "``": '"', "''": '"',
}  # fmt: skip
_DASH_RUN = regex.compile(f"[{_DASHES}]+")
_DOT_RUN = regex.compile(r"\.{2,}|\u2026+")
_MARK_RUN = regex.compile(r"([!?=*_~#+|^])\1+")
_SIGNS = str.maketrans({**dict.fromkeys(_APOSTROPHES, "'"), **dict.fromkeys(_JOINERS, None)})


def normalize(token: str) -> str:
    """What the model reads for a token: one form for each kind of quote, dash and ellipsis; Unicode composed."""
    if token.isascii() and token.isalpha():
        return token
    if token in _TREEBANK:
        return _TREEBANK[token]
    if len(token) == 1 and token in _DOUBLE_QUOTES:
        return '"'
    if len(token) == 1 and token in _SINGLE_QUOTES:
        return "'"
    if _DASH_RUN.fullmatch(token):
        return "-"
    if _DOT_RUN.fullmatch(token):
        return "..."
    if _MARK_RUN.fullmatch(token):
        return token[0]
    if len(token) > MAX_NORMALIZED:
        return token
    plain = token.translate(_SIGNS)
    composed = unicodedata.normalize("NFKC", plain)
    if not composed or any(c.isspace() for c in composed):  # a lone joiner; a spacing accent, which NFKC takes apart
        return token
    return composed


_FUSED = frozenset({"cannot", "gonna", "wanna", "gotta", "gimme", "lemme"})
_PIECE = re.compile(r"\S+")  # white space as `str.split` has it; regex leaves out a few control characters


def _cut(piece: str, base: int) -> Iterator[Token]:
    if piece.isascii() and piece.isalpha() and piece.lower() not in _FUSED:
        yield Token(piece, base, base + len(piece), piece)
        return
    for match in _TOKEN.finditer(piece):
        yield Token(match[0], base + match.start(), base + match.end(), normalize(match[0]))


def cut(piece: str) -> list[Token]:
    """The tokens of a piece without white space, offsets from its start."""
    return list(_cut(piece, 0))


def iter_tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, one after the other, in memory that does not grow with their number."""
    for piece in _PIECE.finditer(text):
        yield from _cut(piece[0], piece.start())


def tokenize(text: str) -> list[Token]:
    """The tokens of a text: every character that is not white space is in exactly one of them."""
    return list(iter_tokens(text))


def from_words(words: Iterable[str]) -> list[Token]:
    """Tokens from words that are tokens already, with offsets into the words joined by single spaces."""
    tokens = []
    start = 0
    for position, word in enumerate(words):
        if not isinstance(word, str) or not word.strip():
            raise UserError(f"word {position} is {word!r}: each word must be a string with at least one letter or mark")
        tokens.append(Token(word, start, start + len(word), normalize(word)))
        start += len(word) + 1
    return tokens
