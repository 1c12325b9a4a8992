"""The compiled part of dealing rows out: where each row goes, and columns put there, texts with them."""

from typing import Any

import numpy as np

from rankmeter.compiler import compiled
from rankmeter.memory import byte_at, word_at
from rankmeter.words import INLINE, length_of, text_address


@compiled
def targets(number: Any, shift: int, n_boxes: int) -> Any:
    """Where each row goes when rows are ordered by box, and where each box begins, and the end (both int64).

    Rows keep their order inside a box, as counting does not change it.

    Args:
        number: int64, the number of each row; its box is the number without the lowest `shift` bits. -1: nowhere (-1).
        shift: the bits.
        n_boxes: how many boxes there are.
    """
    starts = np.zeros(n_boxes + 1, np.int64)
    for i in range(len(number)):
        if number[i] >= 0:
            starts[(number[i] >> shift) + 1] += 1
    for box in range(n_boxes):
        starts[box + 1] += starts[box]
    free, out = starts.copy(), np.empty(len(number), np.int64)
    for i in range(len(number)):
        out[i] = -1
        if number[i] >= 0:
            box = number[i] >> shift
            out[i] = free[box]
            free[box] += 1
    return out, starts


@compiled
def scatter(ids: Any, target: Any, width: int, out: Any) -> None:
    """Put the `width` words of each id where it goes; views of longer text still point where they did."""
    for i in range(len(target)):
        if target[i] >= 0:
            for t in range(width):
                out[width * target[i] + t] = word_at(ids.words, width * i + t)


@compiled
def text_starts(words: Any, starts: Any) -> Any:
    """Where the longer texts of each box begin when they stand one after the other, and the end (int64)."""
    out = np.zeros(len(starts), np.int64)
    for box in range(len(starts) - 1):
        size = 0
        for i in range(starts[box], starts[box + 1]):
            length = length_of(words[2 * i])
            size += length if length > INLINE else 0
        out[box + 1] = out[box] + size
    return out


@compiled
def move_texts(ids: Any, words: Any, starts: Any, at: Any, out: Any) -> None:
    """Copy the longer texts that views point to, box by box; the views then hold their place in the box's texts.

    Args:
        ids: the buffers of the texts.
        words: uint64, the views in the order of the boxes; changed.
        starts: int64, where each box begins in the views.
        at: int64, where the texts of each box begin in `out`.
        out: uint8, the texts.
    """
    for box in range(len(starts) - 1):
        place = at[box]
        for i in range(starts[box], starts[box + 1]):
            length = length_of(words[2 * i])
            if length > INLINE:
                source = text_address(ids.buffers, words[2 * i + 1])
                for t in range(length):
                    out[place + t] = byte_at(source + t)
                words[2 * i + 1] = np.uint64(place - at[box]) << np.uint64(32)
                place += length


@compiled
def set_buffer(words: Any, buffer: int) -> None:
    """Let views of longer text that hold a place in a buffer name that buffer too."""
    for i in range(len(words) // 2):
        if length_of(words[2 * i]) > INLINE:
            words[2 * i + 1] |= np.uint64(buffer)
