"""Every way a command can end, as an exit code and at most one sentence."""

import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import typer

from rankmeter.errors import DataError, MemoryLimitError, RankmeterError, StorageError, UsageError

DEFECT, INTERRUPTED, TERMINATED = 70, 130, 143

AGAIN = 0.01
"""Seconds after which a signal that got lost comes once more."""


@dataclass
class Session:
    """What one call of the command line knows apart from its arguments.

    Attributes:
        debug: whether tracebacks are shown.
    """

    debug: bool = False


class _Terminated(BaseException):
    """The process was asked to stop (SIGTERM)."""


def guarded(work: Callable[[], Any], session: Session) -> int:
    """Do the work; whatever ends it becomes an exit code, and an error one sentence on standard error."""
    _open_streams()
    _make_writable(sys.stdout)
    _make_writable(sys.stderr)
    try:
        with _stoppable():
            code = work()
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SystemExit as stop:
        return _after_exit(stop)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except BrokenPipeError:
        return _after_closed_pipe()
    except BaseException as error:  # the panics of polars are no Exception
        return _after_error(error, session)


def say(kind: str, message: object) -> None:
    """One message on standard error, as `rankmeter: KIND: MESSAGE`; where nobody can hear it, the work goes on."""
    try:
        sys.stderr.write(f"rankmeter: {kind}: {message}\n")
        sys.stderr.flush()
    except OSError:
        _into_nothing(sys.stderr)


class _Closed(io.TextIOBase):
    """Standard output that was closed before the start: what is printed is an error, and not lost."""

    def write(self, _: str) -> int:
        """Nothing can be written."""
        raise OSError(errno.EBADF, "is closed, so the results cannot be printed", "standard output")


def _open_streams() -> None:
    """Put something in the place of streams that were closed before the start, so that no file takes their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123  # open until the end
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # likewise
    sys.stdout = sys.stdout or _Closed()


def _into_nothing(stream: Any) -> None:
    """Let what is still buffered go nowhere, so that nothing fails at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _make_writable(stream: Any) -> None:  # whatever stands in for a stream
    """Let a stream write what its encoding lacks as escapes instead of failing."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that unfinished files are taken away; none gets lost."""

    def stop(*_: object) -> NoReturn:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, hook = signal.signal(signal.SIGTERM, stop), sys.unraisablehook
    sys.unraisablehook = _lost
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before)


def _lost(unraisable: Any) -> None:
    """A signal that came where no exception is passed on, such as a callback of a library, comes once more."""
    number = {KeyboardInterrupt: signal.SIGINT, _Terminated: signal.SIGTERM}.get(unraisable.exc_type)
    if number is None:
        sys.__unraisablehook__(unraisable)
        return
    again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _after_exit(stop: SystemExit) -> int:
    """The code of an exit; the libraries below turn a closed pipe into one with code 1."""
    if isinstance(stop.__context__, OSError) and stop.__context__.errno == errno.EPIPE:
        return _after_closed_pipe()
    return stop.code if isinstance(stop.code, int) else int(stop.code is not None)


def _after_closed_pipe() -> int:
    """The reader has seen enough."""
    _into_nothing(sys.stdout)
    return 0


def _after_error(error: BaseException, session: Session) -> int:
    if session.debug:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    known = _as_known(error)
    if known is not None:
        say("error", _with_rule(known))
        return known.exit_code
    sentence = str(error).splitlines()[0] if str(error) else "no message"
    hint = "report it with the traceback above" if session.debug else "run again with --debug to see where"
    say("error", f"this is a defect in rankmeter ({type(error).__name__}: {sentence}); {hint}")
    return DEFECT


def _as_known(error: BaseException) -> RankmeterError | None:
    """The error as one of ours, or None for a defect."""
    if isinstance(error, RankmeterError):
        return error
    if hasattr(error, "format_message"):  # what typer raises for wrong arguments
        return UsageError(f"{error.format_message()}{_help_hint(error)}")
    if isinstance(error, MemoryError):
        return MemoryLimitError("there is not enough memory; use smaller batches (--batch-rows) or fewer --threads")
    if isinstance(error, OSError):
        return StorageError(f"{error.filename or 'standard output'}: {error.strerror or error}")
    return None


def _with_rule(error: RankmeterError) -> str:
    """The sentence, behind the code of the rule that the data breaks; where there are several, each has its own."""
    single = isinstance(error, DataError) and sum(error.counts.values()) == 1
    return f"[{next(iter(error.counts))}] {error}" if isinstance(error, DataError) and single else str(error)


def _help_hint(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return f" (see {context.command_path} --help)" if context is not None else ""
