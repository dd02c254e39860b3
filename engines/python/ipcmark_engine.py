"""An engine of ipcmark in Python: you write how messages are sent and received, this file does the rest.

    import ipcmark_engine

    class Mine:
        def __init__(self, asked): ...     # asked.role, .bytes, .folder, .name, .options; both roles are opened at once
        def send(self, message): ...       # bytes
        def recv(self, size): ...          # gives a message of so many bytes
        def close(self): ...

    ipcmark_engine.serve(Mine, name="mine", version="1.2", summary="my queue")

docs/ENGINES.md has the protocol. No dependency; CC0.
"""

import os
import struct
import sys
from time import monotonic_ns
from types import SimpleNamespace
from urllib.parse import quote, unquote


def serve(open_end, **about):
    """Does what ipcmark asks for on standard input, until that ends. What `about` says of the engine: name, version, summary,
    licence, options ("wait=sleep|spin"), framing ("messages"), waits ("spins"), largest."""
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(word, **fields):
        pairs = "".join(f" {key}={quote(str(value), safe='/|=,')}" for key, value in fields.items())
        answers.write(f"{word}{pairs}\n")
        answers.flush()

    language = f"Python {sys.version.split()[0]}"
    say("hello", **{"protocol": 1, "language": language, "null": "yes", **about})
    end = None
    try:
        for line in sys.stdin:
            word, *pairs = line.split()
            asked = {key: unquote(value) for key, value in (pair.split("=", 1) for pair in pairs)}
            if word == "open":
                end = _End(open_end, asked)
                say("opened")
            elif word == "verify":
                say("verified", sum=end.verify(int(asked["count"]), int(asked["seed"])))
            elif word == "exchange":
                began, ended, done = end.exchange(asked["workload"], int(asked["samples"]), int(asked["batch"]))
                say("exchanged", begun_ns=began, ended_ns=ended, operations=done)
            elif word == "close":
                end.own.close()
                say("closed")
                return
    except Exception as error:
        say("failed", reason=f"{type(error).__name__}: {error}")
        sys.exit(1)


def _nothing(_):
    pass


class _End:
    def __init__(self, open_end, asked):
        options = {key[4:]: value for key, value in asked.items() if key.startswith("opt.")}
        self.initiates = asked["role"] == "initiator"
        self.bytes = int(asked["bytes"])
        self.samples = open(asked["samples"], "r+b", buffering=0)
        self.own = open_end(
            SimpleNamespace(
                role=asked["role"], bytes=self.bytes, folder=asked["folder"], name=asked["name"], options=options
            )
        )
        self.message = bytes(self.bytes)

    def verify(self, count, seed):
        """Sends messages that a seed makes; gives the sum of those that came."""
        total = 0x811C9DC5
        for _ in range(count):
            made = bytearray(self.bytes)
            for at in range(self.bytes):
                seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
                made[at] = seed >> 24
            if self.initiates:
                self.own.send(bytes(made))
            came = self.own.recv(self.bytes)
            if not self.initiates:
                self.own.send(bytes(made))
            for byte in came:
                total = ((total ^ byte) * 16777619) & 0xFFFFFFFF
        return total

    def exchange(self, workload, samples, batch):
        """Does samples * batch operations; gives when it began, when it ended, and how many it did; a null is a latency
        without a mechanism."""
        send, recv, size, message = self.own.send, self.own.recv, self.bytes, self.message
        if workload == "null":
            send, recv, workload = _nothing, _nothing, "latency"
        taken = [0] * samples if self.initiates else None
        began = before = monotonic_ns()
        if workload == "latency" and self.initiates:
            for nth in range(samples):
                for _ in range(batch):
                    send(message)
                    recv(size)
                now = monotonic_ns()
                taken[nth] = now - before
                before = now
        elif workload == "latency":
            for _ in range(samples * batch):
                send(recv(size))
        elif self.initiates:
            for nth in range(samples):
                for _ in range(batch):
                    send(message)
                recv(1)
                now = monotonic_ns()
                taken[nth] = now - before
                before = now
        else:
            for _ in range(samples):
                for _ in range(batch):
                    recv(size)
                send(b"\xac")
        ended = before if self.initiates else monotonic_ns()
        if taken is not None:
            os.pwrite(self.samples.fileno(), struct.pack(f"<{samples}Q", *taken), 0)
        return began, ended, samples * batch
