"""What two Python programs use: a connection of the standard library's multiprocessing, over a Unix socket."""

import os
import platform
import time
from multiprocessing.connection import Client, Listener

import ipcmark_engine


class Connection:
    def __init__(self, asked):
        self.objects = asked.options["send"] == "objects"
        path = os.path.join(asked.folder, "s")
        if asked.role == "responder":
            with Listener(path) as listener:
                self.end = listener.accept()
        else:
            self.end = self.connect(path)
        self.send = self.end.send if self.objects else self.end.send_bytes

    @staticmethod
    def connect(path):
        while True:
            try:
                return Client(path)
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.001)

    def recv(self, size):
        message = self.end.recv() if self.objects else self.end.recv_bytes()
        if len(message) != size:
            raise ValueError(f"a message of {len(message)} bytes came, and {size} were due")
        return message

    def close(self):
        self.end.close()


ipcmark_engine.serve(
    Connection,
    name="python-multiprocessing",
    version=platform.python_version(),
    summary="multiprocessing.connection over a Unix socket",
    licence="PSF-2.0",
    options="send=bytes|objects",
    framing="messages",
)
