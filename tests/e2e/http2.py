"""A client of gRPC that reads nothing, by frames of HTTP/2 (RFC 9113)."""

import socket
import struct

DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
INITIAL_WINDOW_SIZE = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags])
            + stream.to_bytes(4, "big") + payload)


def _field(name, value):
    """A header as literals without indexing (RFC 7541), each below 127 bytes."""
    return b"\0" + b"".join(bytes([len(text)]) + text.encode()
                            for text in (name, value))


class Http2:
    """One connection, whose streams the server may send nothing on."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.sendall(PREFACE + frame(
            SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)))
        self._calls = 0

    def call(self, path, message=b""):
        headers = b"".join(_field(name, value) for name, value in (
            (":method", "POST"), (":scheme", "http"), (":path", path),
            (":authority", "test"), ("te", "trailers"),
            ("content-type", "application/grpc")))
        data = b"\0" + len(message).to_bytes(4, "big") + message
        stream = 2 * self._calls + 1
        self._calls += 1
        self._socket.sendall(frame(HEADERS, END_HEADERS, stream, headers)
                             + frame(DATA, END_STREAM, stream, data))

    def close(self):
        self._socket.close()
