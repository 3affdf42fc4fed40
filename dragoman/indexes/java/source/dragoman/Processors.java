package dragoman;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Work on snapshots for one call from Python: on threads of its own while processors are free, and else by whoever asks.
 * So one search has all processors, and many searches at a time do not pay for threads that wake each other.
 */
final class Processors {
  interface Work {
    /** {@code alone} if on a thread of its own. */
    void run(boolean alone) throws IOException;
  }

  /** After this, work is taken for stuck: nobody computes by itself then what may be stuck as well. */
  private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final Map<Object, Long> RUNNING = new ConcurrentHashMap<>();

  private static final int MOST_THREADS = 64;

  private static final ExecutorService THREADS =
      new ThreadPoolExecutor(
          0,
          MOST_THREADS,
          10,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          work -> {
            Thread thread = new Thread(work, "dragoman-part");
            thread.setDaemon(true);
            return thread;
          },
          new ThreadPoolExecutor.CallerRunsPolicy());

  private final int processors;
  private final long end;
  private final List<Future<?>> submitted = new ArrayList<>();

  Processors(int processors, long millis) {
    this.processors = processors;
    end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
  }

  /** Does some work now. */
  void compute(Work work) throws IOException, TimeoutException {
    if (end - System.nanoTime() < 0) throw new TimeoutException();
    Object token = new Object();
    RUNNING.put(token, System.nanoTime());
    try {
      work.run(false);
    } finally {
      RUNNING.remove(token);
    }
  }

  /** Does some work on a thread of its own, or now; the snapshot stays until it is done, even if nobody waits for it. */
  void submit(Snapshot snapshot, Work work) throws IOException, TimeoutException {
    if (RUNNING.size() >= processors && !isStuck()) {
      compute(work);
      return;
    }
    Object token = new Object();
    RUNNING.put(token, System.nanoTime());
    snapshot.reader.incRef();
    try {
      submitted.add(
          THREADS.submit(
              () -> {
                try {
                  work.run(true);
                } finally {
                  RUNNING.remove(token);
                  snapshot.leave();
                }
                return null;
              }));
    } catch (OutOfMemoryError error) { // there cannot be another thread
      RUNNING.remove(token);
      snapshot.leave();
      throw error;
    }
  }

  /** Waits until all that was submitted is done; raises a fault of it. */
  void join() throws IOException, TimeoutException {
    Throwable fault = null;
    for (Future<?> future : submitted) {
      try {
        future.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (ExecutionException raised) {
        fault = raised.getCause();
      } catch (InterruptedException raised) {
        throw new IllegalStateException(raised);
      }
    }
    submitted.clear();
    if (fault instanceof IOException) throw (IOException) fault;
    if (fault instanceof Error) throw (Error) fault;
    if (fault != null) throw new IllegalStateException(fault);
  }

  private static boolean isStuck() {
    long now = System.nanoTime();
    for (long began : RUNNING.values()) {
      if (now - began > STUCK_NANOS) return true;
    }
    return false;
  }
}
