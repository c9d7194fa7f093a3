"""Bytes that came in pieces and are read in others; how many there are is always known."""

from collections import deque


class Pieces:
    def __init__(self) -> None:
        self.size = 0
        self._pieces: deque[bytes] = deque()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)

    def take(self, most: int = -1) -> bytes:
        """The oldest piece, or its beginning; nothing when there is none."""
        if not self._pieces:
            return b""
        piece = self._pieces.popleft()
        if 0 <= most < len(piece):
            self._pieces.appendleft(piece[most:])
            piece = piece[:most]
        self.size -= len(piece)
        return piece

    def clear(self) -> int:
        """Drop everything; how much that was."""
        dropped, self.size = self.size, 0
        self._pieces.clear()
        return dropped
