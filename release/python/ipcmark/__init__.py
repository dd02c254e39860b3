"""ipcmark from Python: a run, and what it found, as plain values.

    import ipcmark

    run = ipcmark.run("pipe", "unix-stream", workload="latency", size="64", placement="same-cpu", budget="10s")
    run.ratio("unix-stream", "pipe")      # (estimate, low, high): the 95 % interval of one time over the other
    run.frame()                           # a row per case: a DataFrame where pandas is there, else a list of dicts
    run.samples()                         # the launches' samples in ns, by the number of their case
    run                                   # a table, in a notebook

The program `ipcmark` is that of this package, else the one on PATH, or $IPCMARK.
"""

import csv
import html
import io
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile

__all__ = ["Error", "Run", "load", "run"]
__version__ = "@VERSION@"


class Error(Exception):
    """What the program says where it gives no run."""


def program():
    """The path of the program."""
    own = os.path.join(sysconfig.get_path("scripts"), "ipcmark")
    found = os.environ.get("IPCMARK") or (own if os.path.exists(own) else shutil.which("ipcmark"))
    if not found:
        raise Error("no program ipcmark: put it on PATH, or name it in $IPCMARK")
    return found


def _call(words, accepted=(0,)):
    said = subprocess.run([program(), "--color", "never", *words], capture_output=True, text=True)
    if said.returncode not in accepted:
        lines = [line for line in said.stderr.splitlines() if line.strip()]
        raise Error(lines[-1] if lines else f"ipcmark ended with {said.returncode}")
    return said.stdout


def run(*mechanisms, store=None, **flags):
    """Measures; flags are those of `ipcmark run`, as in budget="10s", size=["64", "4K"], verify=True.

    `store` is the file that keeps the run; without one it is kept in a folder that goes with the Run."""
    folder = None
    if store is None:
        folder = tempfile.TemporaryDirectory(prefix="ipcmark-")
        store = os.path.join(folder.name, "runs.sqlite")
    words = ["run", "--quiet", "--store", str(store), *mechanisms]
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not False and value is not None:
            parts = value if isinstance(value, (list, tuple)) else [value]
            words += [flag, ",".join(str(part) for part in parts)]
    # 5: a mechanism that was asked for isn't there, and stands in the run as such.
    _call(words, accepted=(0, 5))
    return load("last", store, folder)


def load(name="last", store=None, _folder=None):
    """A stored run, by its number or label."""
    of = ["--store", str(store)] if store else []
    return Run(json.loads(_call(["export", str(name), "--format", "json", *of])), of, _folder)


class Run:
    """A run. `document` is its whole JSON (`ipcmark schema results`)."""

    def __init__(self, document, store, folder=None):
        self.document = document
        self._store = store
        self._folder = folder

    def rows(self):
        """A dict per case: what it is, its median and interval, and its percentiles, in the unit beside."""
        rows = []
        for case in self.document["results"]:
            value = case["value"] or {}
            row = {
                key: case[key]
                for key in ("variant", "workload", "message_bytes", "placement", "workers", "route", "arm", "twin", "status")
            }
            row["unit"] = case["metric"]["unit"]
            row.update({key: value.get(key) for key in ("median", "low", "high", "n")})
            for name, found in (value.get("percentiles") or {}).items():
                row[name] = found["value"] if found else None
            rows.append(row)
        return rows

    def frame(self):
        """Those rows as a pandas DataFrame, where pandas is there."""
        try:
            import pandas
        except ImportError:
            return self.rows()
        return pandas.DataFrame(self.rows())

    def ratio(self, one, other, **case):
        """The time of one variant over that of another: estimate, and the ends of its 95 % interval.

        One of the two is the reference of its question; `case` picks a question where the run has several, as in
        placement="same-cpu", message_bytes=64."""
        found = []
        for question in self.document["comparisons"]:
            if any(question.get(key) != value for key, value in case.items()):
                continue
            of = {standing["variant"]: standing for standing in question["standings"]}
            reference = next((s["variant"] for s in question["standings"] if s["result"] == question["reference"]), None)
            if one in of and other in of and reference in (one, other):
                standing = of[one if reference == other else other]
                values = [standing["ratio"], standing["low"], standing["high"]]
                if reference == one and None not in values:
                    values = [1 / values[0], 1 / values[2], 1 / values[1]]
                found.append(tuple(values))
        if len(found) != 1:
            what = "none" if not found else f"{len(found)} of them: say which, as in placement=\"same-cpu\""
            raise Error(f"{one} over {other}: {what}; one of the two must be the reference (reference=...)")
        return found[0]

    def samples(self):
        """Every sample in ns, as {number of the case in `rows()`: {launch: [ns, ...]}}."""
        text = _call(["export", str(self.document["run"]), "--format", "samples", *self._store])
        taken = {}
        for row in csv.DictReader(io.StringIO(text)):
            launches = taken.setdefault(int(row["case"]), {})
            launches.setdefault(int(row["launch"]), []).append(float(row["ns"]))
        return taken

    def __repr__(self):
        return f"<ipcmark run {self.document['run']}: {len(self.document['results'])} cases>"

    def _repr_html_(self):
        columns = ["workload", "message_bytes", "placement", "variant", "median", "low", "high", "unit", "n", "status"]
        cell = lambda tag, value: f"<{tag}>{html.escape('' if value is None else _shown(value))}</{tag}>"
        head = "".join(cell("th", column) for column in columns)
        rows = [row for row in self.rows() if not row["twin"]]
        body = "".join("<tr>" + "".join(cell("td", row[column]) for column in columns) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
