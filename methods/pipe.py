"""Messages over a pair of pipes: a length of 8 bytes, then that many bytes."""

import os
import select
import struct

_HEADER = struct.Struct("<Q")
_CHUNK = 1 << 20


class Pipe:
    """One end of a two-way connection.

    Args:
        read_fd: Descriptor that messages come from.
        write_fd: Descriptor that messages go to.
    """

    def __init__(self, read_fd: int, write_fd: int):
        self.read_fd = read_fd
        self.write_fd = write_fd
        self._received = bytearray()

    def send(self, message: bytes) -> None:
        """Send one message; returns when the last byte is in the pipe.

        Raises:
            BrokenPipeError: If the other side is gone.
        """
        view = memoryview(_HEADER.pack(len(message)) + message)
        while view:
            view = view[os.write(self.write_fd, view) :]

    def receive(self, timeout: float) -> bytes | None:
        """The next message, or None if it is not complete after `timeout` seconds without a byte.

        Raises:
            EOFError: If the other side is gone.
        """
        while True:
            message = self._complete()
            if message is not None:
                return message
            if not select.select([self.read_fd], [], [], timeout)[0]:
                return None
            chunk = os.read(self.read_fd, _CHUNK)
            if not chunk:
                raise EOFError("the other side closed the pipe")
            self._received += chunk

    def _complete(self) -> bytes | None:
        if len(self._received) < _HEADER.size:
            return None
        end = _HEADER.size + _HEADER.unpack_from(self._received)[0]
        if len(self._received) < end:
            return None
        message = bytes(self._received[_HEADER.size : end])
        del self._received[:end]
        return message
