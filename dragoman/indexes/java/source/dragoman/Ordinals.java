package dragoman;

import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.SortedDocValues;
import org.apache.lucene.index.SortedSetDocValues;
import org.apache.lucene.util.ArrayUtil;
import org.apache.lucene.util.FixedBitSet;
import org.apache.lucene.util.LongBitSet;

/**
 * The ordinals of each document's values of a field in a segment, as arrays: a filter that was not asked before then takes
 * a pass over these. They are kept as long as there is room for them.
 */
abstract class Ordinals {
  /** Bytes of all arrays that are kept. */
  private static final long MOST_KEPT = Long.getLong("dragoman.ordinals", Runtime.getRuntime().maxMemory() / 16);

  private static final int WORD = 64;

  private static final Ordinals TOO_MANY = new Several(new int[1], new int[0]);
  private static final Map<Key, Ordinals> KEPT = new LinkedHashMap<>(16, 0.75f, true);
  private static long keptBytes = 0;

  /** A segment, and a field. */
  private static final class Key {
    private final IndexReader.CacheKey segment;
    private final String field;

    Key(IndexReader.CacheKey segment, String field) {
      this.segment = segment;
      this.field = field;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Key && ((Key) other).segment == segment && ((Key) other).field.equals(field);
    }

    @Override
    public int hashCode() {
      return Objects.hash(System.identityHashCode(segment), field);
    }
  }

  final int documents;

  private Ordinals(int documents) {
    this.documents = documents;
  }

  /** The ordinals of a column, which this reads unless it has them; null if they are too many to be kept. */
  static Ordinals of(LeafReader segment, Attributes.Column column) throws IOException {
    Key key = new Key(segment.getCoreCacheHelper().getKey(), column.field);
    synchronized (KEPT) {
      Ordinals kept = KEPT.get(key);
      if (kept != null) return kept == TOO_MANY ? null : kept;
    }
    Ordinals read =
        column.single == null ? several(segment, column.field) : single(segment.maxDoc(), column.single);
    synchronized (KEPT) {
      if (KEPT.put(key, read) == null) keptBytes += read.bytes();
      for (Iterator<Ordinals> oldest = KEPT.values().iterator(); keptBytes > MOST_KEPT; ) {
        keptBytes -= oldest.next().bytes();
        oldest.remove();
      }
    }
    return read == TOO_MANY ? null : read;
  }

  private static Ordinals single(int documents, SortedDocValues values) throws IOException {
    Ordinals read = values.getValueCount() < 0xffff ? new Narrow(documents) : new Wide(documents);
    for (int document; (document = values.nextDoc()) < documents; ) read.set(document, values.ordValue());
    return read;
  }

  private static Ordinals several(LeafReader segment, String field) throws IOException {
    int documents = segment.maxDoc();
    SortedSetDocValues values = segment.getSortedSetDocValues(field);
    int[] starts = new int[documents + 1];
    int[] ordinals = new int[documents];
    int count = 0;
    int next = 0;
    for (int document; (document = values.nextDoc()) < documents; ) {
      while (next <= document) starts[next++] = count;
      int more = values.docValueCount();
      if (4L * (count + more) > MOST_KEPT / 4) return TOO_MANY;
      ordinals = ArrayUtil.grow(ordinals, count + more);
      for (; more > 0; more--) ordinals[count++] = (int) values.nextOrd();
    }
    while (next <= documents) starts[next++] = count;
    return new Several(starts, Arrays.copyOf(ordinals, count));
  }

  void set(int document, int ordinal) {
    throw new UnsupportedOperationException();
  }

  abstract long bytes();

  /** One bit for each of the documents from {@code first} to {@code end} whose ordinal is from low to below high. */
  abstract long within(int first, int end, int low, int high);

  /** One bit for each of the documents from {@code first} to {@code end} whose ordinal is chosen. */
  abstract long among(int first, int end, LongBitSet chosen);

  /** Adds the documents whose ordinals are from low to below high. */
  void add(FixedBitSet found, long low, long high) {
    long[] bits = found.getBits();
    int last = (int) Math.min(high, Integer.MAX_VALUE - 1);
    for (int first = 0; first < documents; first += WORD) {
      bits[first / WORD] |= within(first, Math.min(first + WORD, documents), (int) low, last);
    }
  }

  /** Adds the documents whose ordinals are chosen. */
  void add(FixedBitSet found, LongBitSet chosen) {
    long[] bits = found.getBits();
    for (int first = 0; first < documents; first += WORD) {
      bits[first / WORD] |= among(first, Math.min(first + WORD, documents), chosen);
    }
  }

  /** In two bytes each; 0 is no value. */
  private static final class Narrow extends Ordinals {
    private final char[] following;

    Narrow(int documents) {
      super(documents);
      following = new char[documents];
    }

    @Override
    void set(int document, int ordinal) {
      following[document] = (char) (ordinal + 1);
    }

    @Override
    long bytes() {
      return 2L * following.length;
    }

    @Override
    long within(int first, int end, int low, int high) {
      long bits = 0;
      for (int document = first; document < end; document++) {
        int ordinal = following[document] - 1;
        // the sign of a difference is a bit without a branch
        bits |= (long) (((ordinal - high) & ~(ordinal - low)) >>> 31) << (document - first);
      }
      return bits;
    }

    @Override
    long among(int first, int end, LongBitSet chosen) {
      long bits = 0;
      for (int document = first; document < end; document++) {
        int next = following[document];
        if (next > 0 && chosen.get(next - 1)) bits |= 1L << (document - first);
      }
      return bits;
    }
  }

  /** In four bytes each; 0 is no value. */
  private static final class Wide extends Ordinals {
    private final int[] following;

    Wide(int documents) {
      super(documents);
      following = new int[documents];
    }

    @Override
    void set(int document, int ordinal) {
      following[document] = ordinal + 1;
    }

    @Override
    long bytes() {
      return 4L * following.length;
    }

    @Override
    long within(int first, int end, int low, int high) {
      long bits = 0;
      for (int document = first; document < end; document++) {
        int ordinal = following[document] - 1;
        if (low <= ordinal && ordinal < high) bits |= 1L << (document - first);
      }
      return bits;
    }

    @Override
    long among(int first, int end, LongBitSet chosen) {
      long bits = 0;
      for (int document = first; document < end; document++) {
        int next = following[document];
        if (next > 0 && chosen.get(next - 1)) bits |= 1L << (document - first);
      }
      return bits;
    }
  }

  /** Any number of values for a document, in ascending order. */
  private static final class Several extends Ordinals {
    private final int[] starts;
    private final int[] ordinals;

    Several(int[] starts, int[] ordinals) {
      super(starts.length - 1);
      this.starts = starts;
      this.ordinals = ordinals;
    }

    @Override
    long bytes() {
      return 4L * (starts.length + ordinals.length);
    }

    @Override
    long within(int first, int end, int low, int high) {
      long bits = 0;
      for (int document = first; document < end; document++) {
        for (int i = starts[document]; i < starts[document + 1]; i++) {
          if (ordinals[i] < low) continue;
          if (ordinals[i] < high) bits |= 1L << (document - first);
          break;
        }
      }
      return bits;
    }

    @Override
    long among(int first, int end, LongBitSet chosen) {
      long bits = 0;
      for (int document = first; document < end; document++) {
        for (int i = starts[document]; i < starts[document + 1]; i++) {
          if (!chosen.get(ordinals[i])) continue;
          bits |= 1L << (document - first);
          break;
        }
      }
      return bits;
    }
  }
}
