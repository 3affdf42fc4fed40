package dragoman;

import java.io.IOException;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The parts of an index, seen at one moment: a search sees what a refresh brought in all of them or in none. */
public final class Parts {
  /** Whoever takes snapshots of several parts reads, and whoever replaces them writes; both take microseconds. */
  private static final ReadWriteLock LOCK = new ReentrantReadWriteLock();

  private Parts() {}

  /** Makes what {@link Searcher#prepare} opened in each part searchable. */
  public static void refreshAll(Searcher[] parts) throws IOException {
    Snapshot[] older = acquireAll(parts); // whose last release closes files: not while searches wait for the lock
    try {
      LOCK.writeLock().lock();
      try {
        for (Searcher part : parts) part.maybeRefreshBlocking();
      } finally {
        LOCK.writeLock().unlock();
      }
    } finally {
      for (int i = 0; i < parts.length; i++) parts[i].release(older[i]);
    }
  }

  /**
   * Keeps a snapshot of each part until its {@link Searcher#endLease}.
   *
   * @return their versions
   */
  public static long[] leaseAll(Searcher[] parts) throws IOException {
    Snapshot[] snapshots = acquireAll(parts);
    long[] versions = new long[parts.length];
    for (int i = 0; i < parts.length; i++) {
      parts[i].leases.keep(snapshots[i]);
      versions[i] = snapshots[i].version;
      parts[i].release(snapshots[i]);
    }
    return versions;
  }

  /** A snapshot of each part, which is to be released. */
  static Snapshot[] acquireAll(Searcher[] parts) throws IOException {
    Snapshot[] snapshots = new Snapshot[parts.length];
    int count = 0;
    LOCK.readLock().lock();
    try {
      for (; count < parts.length; count++) snapshots[count] = parts[count].acquire();
      return snapshots;
    } finally {
      LOCK.readLock().unlock();
      if (count < parts.length) {
        for (int i = 0; i < count; i++) parts[i].release(snapshots[i]);
      }
    }
  }
}
