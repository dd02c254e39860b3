"""An engine whose messages go by way of a daemon: `engine KIT`; or that daemon: `daemon FOLDER`, and `daemon ends`."""

import os
import socket
import sys
import threading
import time

role, told = sys.argv[1:3]


def forward(source, to):
    while data := source.recv(65536):
        # A daemon that does nothing else would be lost among the switches of its ends.
        for _ in range(10):
            time.sleep(0.0001)
        to.sendall(data)


if role == "daemon":
    if told == "ends":
        sys.exit("no room for a daemon")
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.join(told, "daemon"))
    server.listen()
    one, other = server.accept()[0], server.accept()[0]
    threading.Thread(target=forward, args=(one, other), daemon=True).start()
    forward(other, one)
    # It outlives its ends: whoever started it ends it.
    time.sleep(600)


class Relayed:
    def __init__(self, asked):
        self.end = socket.socket(socket.AF_UNIX)
        waits_until = time.monotonic() + 2
        while self.end.connect_ex(os.path.join(asked.folder, "daemon")):
            if time.monotonic() > waits_until:
                raise TimeoutError("nobody serves")
            time.sleep(0.001)
        self.send = self.end.sendall

    def recv(self, size):
        return self.end.recv(size, socket.MSG_WAITALL)

    def close(self):
        self.end.close()


sys.path.insert(0, told)
import ipcmark_engine  # noqa: E402

ipcmark_engine.serve(Relayed, name="relayed", version="1", summary="by way of a daemon", broker="yes")
