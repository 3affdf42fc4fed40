package dragoman;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.NumericDocValues;

/** A point-in-time view of an index, with what was read of it so far. */
final class Snapshot {
  /** The field of the documents' keys in the database. */
  static final String KEY = "key";

  /** How many postings all snapshots may keep; by default a quarter of the heap, since each takes 8 bytes. */
  private static final long MAX_KEPT = Long.getLong("dragoman.postings", Runtime.getRuntime().maxMemory() / 32);

  private static final Set<Snapshot> KEEPING = ConcurrentHashMap.newKeySet();
  private static final AtomicLong KEPT = new AtomicLong();

  private static final AtomicLong LAST_VERSION = new AtomicLong(System.currentTimeMillis() << 20);

  /** Tells this snapshot from all others, also from those of an index that was opened anew. */
  final long version = LAST_VERSION.incrementAndGet();

  final DirectoryReader reader;
  final LeafReader[] segments;
  private final long[][] keys;
  private final Map<String, Field> fields = new ConcurrentHashMap<>();

  Snapshot(DirectoryReader reader) {
    this.reader = reader;
    segments = reader.leaves().stream().map(LeafReaderContext::reader).toArray(LeafReader[]::new);
    keys = new long[segments.length][];
  }

  /** Statistics and terms of a field; read by one thread, as they take a byte for each document. */
  synchronized Field field(String name) throws IOException {
    Field found = fields.get(name);
    if (found == null) {
      found = new Field(this, name);
      fields.put(name, found);
    }
    return found;
  }

  /** The key of each document of a segment; read by one thread, as they take 8 bytes for each document. */
  synchronized long[] keys(int segment) throws IOException {
    if (keys[segment] == null) {
      long[] read = new long[segments[segment].maxDoc()];
      NumericDocValues values = segments[segment].getNumericDocValues(KEY);
      while (values.nextDoc() < read.length) read[values.docID()] = values.longValue();
      keys[segment] = read;
    }
    return keys[segment];
  }

  /** Counts postings that are kept from now on; if they are too many, all snapshots forget theirs. */
  void keep(int postings) {
    KEEPING.add(this);
    if (KEPT.addAndGet(postings) > MAX_KEPT) forgetAll();
  }

  /** Gives up a reference to the reader, and what was read where it was the last one. */
  void leave() throws IOException {
    reader.decRef();
    if (reader.getRefCount() == 0) forget();
  }

  static void forgetAll() {
    KEEPING.forEach(Snapshot::forget);
  }

  void forget() {
    KEEPING.remove(this);
    for (Field field : fields.values()) KEPT.addAndGet(-field.forget());
  }
}
