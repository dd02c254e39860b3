"""An engine over a Unix socket with one thing wrong with it, by its argument; 0 has nothing wrong."""

import os
import socket
import sys
import time

sys.path.insert(0, sys.argv[2])
import ipcmark_engine

BAD = int(sys.argv[1])
NS = time.monotonic_ns


class Socket:
    def __init__(self, asked):
        if BAD == 5:
            sys.stdout.write("opening\n")
        if BAD == 16 and asked.role == "responder":
            time.sleep(60)
        path = os.path.join(asked.folder, "s")
        self.end = socket.socket(socket.AF_UNIX)
        if asked.role == "responder":
            self.end.bind(path)
            self.end.listen()
            self.end = self.end.accept()[0]
        else:
            while self.end.connect_ex(path):
                time.sleep(0.001)

    def send(self, message):
        if BAD == 8 and len(message) > 1:
            message = message[:-1] + b"\0"
        if BAD == 12:
            os.kill(os.getpid(), 11)
        self.end.sendall(message)

    def recv(self, size):
        message = b""
        while len(message) < size:
            part = self.end.recv(size - len(message))
            if not part:
                # The reason of the other side comes first.
                time.sleep(2)
                raise EOFError("the partner is gone")
            message += part
        return message

    def close(self):
        self.end.close()


about = {"name": "bad", "version": "1", "summary": "a bad one"}
exchange = ipcmark_engine._End.exchange


def lies(end, workload, samples, batch):
    if BAD == 18 and workload == "null":
        raise ValueError("no such workload")
    began, ended, done = exchange(end, workload, samples, batch)
    if (workload == "null") != (BAD == 17):
        return began, ended, done
    if BAD == 9:
        done -= 1
    if BAD == 10:
        began -= 10**12
    if BAD in (11, 17) and end.initiates:
        os.pwrite(end.samples.fileno(), bytes(8 * samples), 0)
    if BAD == 14 and end.initiates:
        os.truncate(end.samples.fileno(), 8 * samples - 8)
    return began, ended, done


ipcmark_engine._End.exchange = lies
if BAD == 1:
    sys.exit("no such queue")
if BAD == 2:
    print("hello protocol=2 name=bad version=1", flush=True)
    sys.exit()
if BAD == 3:
    about["name"] = "pipe"
if BAD == 4:
    about["options"] = "wait"
if BAD == 6:
    print("hello protocol=1 name=bad version=1", flush=True)
    for line in sys.stdin:
        print("unavailable reason=no%20broker remedy=start%20it", flush=True)
if BAD == 7:
    print("starting ...", flush=True)
if BAD == 18:
    about["null"] = "no"
if BAD == 19:
    about["null"] = "maybe"
if BAD == 15:
    print("hello protocol=1 name=bad version=1", flush=True)
    time.sleep(60)
ipcmark_engine.serve(Socket, **about)
