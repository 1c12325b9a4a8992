"""Processes that write and are stopped, starved or refused: each is forked from one that has loaded all modules.

Run as a script it is the parent of such processes: a line of JSON on standard input starts a job or waits for one. It
never works itself, so that no thread is lost by the fork.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import inputs
import polars as pl
import pyarrow.compute  # noqa: F401  # which writing loads
from powerless import powerless

from rankmeter import sinks
from rankmeter.cli import main
from rankmeter.limits import Budget
from rankmeter.pipeline import execute
from rankmeter.result import markdown

FINISHED = 0
SYSCALLS = ctypes.CDLL(None, use_errno=True)
NEW_USERS, NEW_MOUNTS = 0x10000000, 0x00020000
PRIVATE, RECURSIVE = 1 << 18, 1 << 14
DISK = 1 << 16
"""Bytes of the small disk."""


# The side of the tests


@dataclass(frozen=True)
class Child:
    """A forked process that does one job."""

    nursery: "Nursery"
    pid: int

    def kill(self, number=signal.SIGKILL):
        """Send a signal; a process that has ended keeps its id until somebody has waited for it."""
        os.kill(self.pid, number)

    def lives(self):
        """Whether it has not ended yet."""
        return self.nursery.ask(lives=self.pid)

    def wait(self):
        """The exit code, or the negative number of the signal that ended it."""
        return self.nursery.ask(wait=self.pid)


class Nursery:
    """A process that has loaded the package, and forks a child for each job."""

    def __init__(self):
        path = f"{inputs.SOURCES.parent}:{Path(__file__).parent}"
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=inputs.environment(PYTHONPATH=path),
            text=True,
        )

    def ask(self, **question):
        """One question, and its answer."""
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, job, *arguments, log=os.devnull):
        """A child that does a job; what it prints goes to `log`."""
        return Child(self, self.ask(job=job, arguments=[*arguments], log=str(log)))

    def done(self, job, *arguments, log=os.devnull):
        """The exit code of a child that does a job."""
        return self.start(job, *arguments, log=log).wait()

    def close(self):
        """End it."""
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


def tables(seed, frames=3, rows=400):
    """Some frames of a schema like that of values per query, in text that differs from seed to seed."""
    return [
        pl.DataFrame(
            {
                "query_id": [f"q{seed}-{number}-{row * 7919 % 1000}" for row in range(rows)],
                "n": [row * seed for row in range(rows)],
                "AP": [row / (seed + 7) for row in range(rows)],
            }
        )
        for number in range(frames)
    ]


# What children do


def write(target, seed, frames=3, rows=400):
    """Write the tables of a seed in the format of the suffix."""
    parts = tables(seed, frames, rows)
    suffix = Path(target).suffix
    if suffix == ".md":
        sinks.write_text(target, markdown(pl.concat(parts)))
    elif suffix == ".json":
        sinks.write_text(target, json.dumps([part.rows() for part in parts]))
    else:
        sinks.write_frames(target, parts, {"seed": seed})


def write_often(target, seed, times):
    """Write the same again and again, each time as a run does: cleaning up first."""
    for _ in range(times):
        sinks.check_target(target, "summary")
        write(target, seed)


def write_until(target, seed, last, number):
    """Write, and send a signal to oneself at a certain step: a write, or what makes the file take its place."""
    at_step(last, number)
    write(target, seed)


def at_step(last, number):
    """From now on, count what is done with files that are written, and send a signal before the step `last`."""
    steps = 0

    def counted(function):
        def step(*given, **named):
            nonlocal steps
            steps += 1
            if steps == last:
                os.kill(os.getpid(), number)
            return function(*given, **named)

        return step

    class Counted:
        """A file that polars and pyarrow cannot write past."""

        def __init__(self, handle, mode):
            self._file = open(handle, mode, buffering=0)  # noqa: SIM115, PTH123  # it is closed below
            self.write = counted(self._file.write)
            for name in ("fileno", "seek", "tell", "flush", "close", "read", "readable", "writable", "seekable"):
                setattr(self, name, getattr(self._file, name))

        closed = property(lambda self: self._file.closed)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self._file.close()

    sinks.os = Proxy(os, fdopen=Counted, fsync=counted(os.fsync))
    sinks.Path = type("Steps", (type(Path()),), {"chmod": counted(Path.chmod), "replace": counted(Path.replace)})


class Proxy:
    """A module with some of its functions changed."""

    def __init__(self, module, **changed):
        self.__dict__.update(vars(module) | changed)


def command(arguments, folder, last=None, number=None):
    """The command line in a folder; a signal comes before a step where one is given."""
    os.chdir(folder)
    if last is not None:
        at_step(last, number)
    return main(arguments)


def on_small_disk(folder, target, arguments, spilled=None):
    """The command line with a disk at `folder` that is soon full; there goes what is `spilled` (a part of the budget).

    Prints the exit code, what stands at the target, and what else is left on the disk.
    """
    if not small_disk(folder):
        resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK))
    if spilled:
        tempfile.tempdir = folder
        setattr(Budget, spilled, 0)
    Path(target).write_text("old", encoding="utf-8")
    before = sorted(os.listdir(folder))  # noqa: PTH208  # names
    code = main(arguments)
    after = sorted(os.listdir(folder))  # noqa: PTH208  # names
    report = {"code": code, "same": Path(target).read_bytes() == b"old", "before": before, "after": after}
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def small_disk(folder):
    """Whether a small file system could be mounted, for this process alone."""
    user, group = os.getuid(), os.getgid()
    if SYSCALLS.unshare(NEW_USERS | NEW_MOUNTS) == 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    elif SYSCALLS.unshare(NEW_MOUNTS) != 0:
        return False
    SYSCALLS.mount(None, b"/", None, PRIVATE | RECURSIVE, None)
    return SYSCALLS.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={DISK}".encode()) == 0


def with_small_files(arguments, size):
    """The command line where no file may be larger."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return main(arguments)


def without_privileges(arguments):
    """The command line where not even root may write what its mode forbids."""
    powerless()
    return main(arguments)


def spill_and_wait(folder, ready):
    """An evaluation that has spilled all it can, and waits before it ends."""
    tempfile.tempdir = folder
    Budget.scattered = Budget.values = 0
    small = inputs.collection(seed=4, queries=25, depth=20)
    run = small.run.sample(fraction=1, shuffle=True, seed=8)

    class Waits:
        def start(self, *_):
            pass

        def advance(self, *_):
            if left_open(folder):
                Path(ready).touch()
                threading.Event().wait(60)

        def finish(self):
            pass

    from rankmeter.notation import parse_measures
    from rankmeter.request import Request, RunInput

    execute(Request((RunInput("r", run),), tuple(parse_measures("AP")), small.qrels), Waits())


def left_open(folder):
    """The files below a folder that this process holds open, by name or without one."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += [name for name in [os.readlink(handle)] if name.startswith(str(folder))]  # noqa: PTH115
    return found


JOBS = {
    job.__name__: job
    for job in (
        write,
        write_often,
        write_until,
        command,
        on_small_disk,
        with_small_files,
        without_privileges,
        spill_and_wait,
    )
}


def child(question):
    """Do a job, and end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = os.open(question["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    code = JOBS[question["job"]](*question["arguments"])
    sys.stdout.flush()
    return code or FINISHED


def answer(question):
    """The id of a new child, or how one has ended."""
    if "wait" in question:
        return os.waitstatus_to_exitcode(os.waitpid(question["wait"], 0)[1])
    if "lives" in question:
        return os.waitid(os.P_PID, question["lives"], os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        code = child(question)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def serve():
    """Answer questions until there are no more."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
