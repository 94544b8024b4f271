"""Bzip2: blocks of text, compressed or decompressed one by one; the output gives the input back byte for byte.

Reading order: `input` (the bytes that blocks are cut from), `blocks` (where a run's blocks come from), `stages` (read,
compress, write), `proof` (that the output is right), `app`.
"""
