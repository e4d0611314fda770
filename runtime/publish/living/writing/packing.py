"""Texts packed for a page: deflated, and written in 91 printable characters.

Two characters hold 13 bits, or 14 where those are few enough (basE91, J. Henke), which takes 8 %
less than base64. ``<``, ``&`` and ``"`` are not among them: what is packed ends no element, and
needs no escapes.
"""

from __future__ import annotations

import zlib

ALPHABET = "".join(chr(code) for code in range(33, 127) if chr(code) not in '"&<')
_BASE = len(ALPHABET)
_FEW = 88
"""Values of 13 bits up to which one bit more fits into two characters: 91² − 2¹³ − 1."""

UNPACK = """const LETTERS = Array.from({length: 94}, (_, k) => String.fromCharCode(k + 33))
  .filter((letter) => !'"&<'.includes(letter)).join('');
function bytesOf(text) {
  const bytes = [];
  let held = 0, bits = 0;
  for (let at = 0; at < text.length; at += 2) {
    const low = LETTERS.indexOf(text[at]);
    if (at + 1 === text.length) {
      bytes.push((held | (low << bits)) & 255);
      break;
    }
    const pair = low + 91 * LETTERS.indexOf(text[at + 1]);
    held |= pair << bits;
    bits += (pair & 8191) > 88 ? 13 : 14;
    for (; bits > 7; bits -= 8, held >>= 8) bytes.push(held & 255);
  }
  return Uint8Array.from(bytes);
}
"""
"""The script that reads it back."""


def packed(text: str) -> str:
    """A text as deflated UTF-8: the same text always gives the same."""
    deflate = zlib.compressobj(9, memLevel=9)
    return _letters(deflate.compress(text.encode()) + deflate.flush())


def unpacked(text: str) -> str:
    """The text that was packed; raises ValueError or zlib.error for what was not."""
    return zlib.decompress(_bytes(text)).decode()


def _letters(data: bytes) -> str:
    found = []
    held = bits = 0
    for byte in data:
        held |= byte << bits
        bits += 8
        if bits > 13:
            few = held & 8191 <= _FEW
            pair = held & (16383 if few else 8191)
            held >>= 14 if few else 13
            bits -= 14 if few else 13
            found += [ALPHABET[pair % _BASE], ALPHABET[pair // _BASE]]
    if bits:
        found.append(ALPHABET[held % _BASE])
        if bits > 7 or held >= _BASE:
            found.append(ALPHABET[held // _BASE])
    return "".join(found)


def _bytes(text: str) -> bytes:
    found = bytearray()
    held = bits = 0
    for at in range(0, len(text), 2):
        low = ALPHABET.index(text[at])
        if at + 1 == len(text):
            found.append((held | low << bits) & 255)
            break
        pair = low + _BASE * ALPHABET.index(text[at + 1])
        held |= pair << bits
        bits += 14 if pair & 8191 <= _FEW else 13
        while bits > 7:
            found.append(held & 255)
            held >>= 8
            bits -= 8
    return bytes(found)
