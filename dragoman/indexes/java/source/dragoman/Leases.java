package dragoman;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The snapshots that queries hold between their rounds, by version. */
final class Leases {
  private static final class Lease {
    final Snapshot snapshot;
    int holders;

    Lease(Snapshot snapshot) {
      this.snapshot = snapshot;
    }
  }

  private final Map<Long, Lease> leases = new HashMap<>();
  private boolean closed;

  /** Keeps a snapshot, to which the caller has a reference, for one more holder. */
  synchronized void keep(Snapshot snapshot) {
    if (closed) return;
    Lease lease = leases.computeIfAbsent(snapshot.version, version -> new Lease(snapshot));
    if (lease.holders++ == 0) snapshot.reader.incRef();
  }

  /** A snapshot with a reference to it, which the caller gives up. */
  synchronized Snapshot take(long version) {
    Lease lease = leases.get(version);
    if (lease == null) throw new LeaseExpired();
    lease.snapshot.reader.incRef();
    return lease.snapshot;
  }

  /** Lets one of the holders go. */
  synchronized void release(long version) throws IOException {
    Lease lease = leases.get(version);
    if (lease == null || --lease.holders > 0) return;
    leases.remove(version);
    lease.snapshot.leave();
  }

  /** Ends all; later ones end at once. */
  synchronized void releaseAll() throws IOException {
    closed = true;
    for (Lease lease : leases.values()) lease.snapshot.leave();
    leases.clear();
  }
}
