package dragoman;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.FixedBitSet;

/** All documents that a query matches and a filter leaves: their number, the values of their fields, the first ones of an order. */
public final class Matches implements Query.Receiver {
  /** Values of a field that are counted; of more, the most frequent ones. */
  private static final int MOST_VALUES = 10_000;

  private final Snapshot snapshot;
  private final FixedBitSet[] accepted;
  private final FixedBitSet[] matched;

  /** Scores by segment and document; null where no order needs them. */
  private final float[][] scores;

  Matches(Snapshot snapshot, String filter, boolean scored) throws IOException {
    this.snapshot = snapshot;
    accepted = Filter.of(snapshot, filter);
    matched = new FixedBitSet[snapshot.segments.length];
    scores = scored ? new float[matched.length][] : null;
    for (int i = 0; i < matched.length; i++) {
      matched[i] = new FixedBitSet(snapshot.segments[i].maxDoc());
      if (scored) scores[i] = new float[matched[i].length()];
    }
  }

  @Override
  public int next(int segment, int first) {
    if (accepted == null) return first;
    return first < accepted[segment].length() ? accepted[segment].nextSetBit(first) : Integer.MAX_VALUE;
  }

  @Override
  public void group(int group, Window window) {}

  @Override
  public void totals(Window window) {
    FixedBitSet ofFilter = accepted == null ? null : accepted[window.segment];
    for (int i = 0; i < window.hitting; i++) {
      int document = window.first + window.hits[i];
      if (ofFilter != null && !ofFilter.get(document)) continue;
      matched[window.segment].set(document);
      if (scores != null) scores[window.segment][document] = window.total(window.hits[i]);
    }
  }

  /** How many there are. */
  long count() {
    long count = 0;
    for (FixedBitSet ofSegment : matched) count += ofSegment.cardinality();
    return count;
  }

  /**
   * How many of them have each value of some fields, one a line.
   *
   * @param names each of one field or of several ones, between spaces, in hexadecimal
   * @return lines: the place of the field, the value in hexadecimal, the number of documents; and of a field with too many
   *     values its place alone
   */
  List<String> facets(List<String> names) throws IOException {
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      Map<BytesRef, Integer> counts = new HashMap<>();
      for (int segment = 0; segment < matched.length; segment++) {
        if (matched[segment].cardinality() == 0) continue;
        Attributes.Column[] columns = Attributes.columnsOf(snapshot.segments[segment], names.get(i));
        if (columns.length == 1) count(matched[segment], columns[0], counts);
        else if (columns.length > 1) countOnce(matched[segment], columns, counts);
      }
      List<Map.Entry<BytesRef, Integer>> entries = new ArrayList<>(counts.entrySet());
      if (entries.size() > MOST_VALUES) {
        entries.sort(Map.Entry.<BytesRef, Integer>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()));
        entries = entries.subList(0, MOST_VALUES);
        lines.add(Integer.toString(i));
      }
      for (Map.Entry<BytesRef, Integer> entry : entries) {
        lines.add(i + " " + Attributes.hexadecimal(entry.getKey()) + " " + entry.getValue());
      }
    }
    return lines;
  }

  private static void count(FixedBitSet matched, Attributes.Column column, Map<BytesRef, Integer> counts)
      throws IOException {
    long low = column.ordinal(new BytesRef());
    long high = column.end();
    int[] ofValues = new int[Math.toIntExact(high - low)];
    for (int document = 0; (document = column.values.nextDoc()) < matched.length(); ) {
      if (!matched.get(document)) continue;
      for (int left = column.values.docValueCount(); left > 0; left--) {
        long ordinal = column.values.nextOrd();
        if (low <= ordinal && ordinal < high) ofValues[(int) (ordinal - low)]++;
      }
    }
    for (int i = 0; i < ofValues.length; i++) {
      if (ofValues[i] > 0 && column.isWhole(low + i)) counts.merge(column.value(low + i), ofValues[i], Integer::sum);
    }
  }

  /** A value in several columns of a document counts once. */
  private static void countOnce(FixedBitSet matched, Attributes.Column[] columns, Map<BytesRef, Integer> counts)
      throws IOException {
    Set<BytesRef> ofDocument = new HashSet<>();
    for (int document = 0; document < matched.length(); document++) {
      document = matched.nextSetBit(document);
      if (document >= matched.length()) break;
      ofDocument.clear();
      for (Attributes.Column column : columns) column.addWhole(document, ofDocument);
      for (BytesRef value : ofDocument) counts.merge(value, 1, Integer::sum);
    }
  }

  /** A document, and for each field of the order its value's column and ordinal, or none. */
  private static final class Entry {
    final int segment;
    final int document;
    final float score;
    final Attributes.Column[] columns;
    final long[] ordinals;

    Entry(int segment, int document, float score, int fields) {
      this.segment = segment;
      this.document = document;
      this.score = score;
      columns = new Attributes.Column[fields];
      ordinals = new long[fields];
    }
  }

  /**
   * The first k of each segment in an order.
   *
   * @param order for each of its parts a line: the score, {@code "="}; or {@code "+"} or {@code "-"} and a field as of
   *     {@link #facets}, by its least value or, descending, its greatest one; documents without a value are last
   * @return lines: the key, the score's bits, and the value of each field in hexadecimal, {@code "-"} for none
   */
  List<String> first(List<String> order, int k) throws IOException {
    List<String> lines = new ArrayList<>();
    for (int segment = 0; segment < matched.length; segment++) {
      if (matched[segment].cardinality() == 0) continue;
      long[] keys = snapshot.keys(segment);
      Comparator<Entry> comparator = comparator(order, keys);
      PriorityQueue<Entry> first = new PriorityQueue<>(k + 1, comparator.reversed());
      Attributes.Column[][] columns = new Attributes.Column[order.size()][];
      for (int i = 0; i < columns.length; i++) {
        boolean field = !order.get(i).equals("=");
        columns[i] = field ? Attributes.columnsOf(snapshot.segments[segment], order.get(i).substring(1)) : null;
      }
      for (int document = 0; document < keys.length; document++) {
        document = matched[segment].nextSetBit(document);
        if (document >= keys.length) break;
        Entry entry = entry(segment, document, order, columns);
        if (first.size() == k && comparator.compare(entry, first.peek()) > 0) continue;
        first.add(entry);
        if (first.size() > k) first.poll();
      }
      for (Entry entry : first) lines.add(line(entry, order, keys));
    }
    return lines;
  }

  private Entry entry(int segment, int document, List<String> order, Attributes.Column[][] columns) throws IOException {
    Entry entry = new Entry(segment, document, scores == null ? 0 : scores[segment][document], columns.length);
    for (int i = 0; i < columns.length; i++) {
      if (columns[i] == null) continue;
      boolean greatest = order.get(i).charAt(0) == '-';
      for (Attributes.Column column : columns[i]) {
        long ordinal = column.extreme(document, greatest);
        if (ordinal < 0) continue;
        int compared = entry.columns[i] == null ? 0 : column.compare(ordinal, entry.columns[i], entry.ordinals[i]);
        if (entry.columns[i] != null && (greatest ? compared <= 0 : compared >= 0)) continue;
        entry.columns[i] = column;
        entry.ordinals[i] = ordinal;
      }
    }
    return entry;
  }

  private static Comparator<Entry> comparator(List<String> order, long[] keys) {
    return (one, other) -> {
      for (int i = 0; i < order.size(); i++) {
        int compared;
        if (order.get(i).equals("=")) {
          compared = Float.compare(other.score, one.score);
        } else if (one.columns[i] == null || other.columns[i] == null) {
          compared = Boolean.compare(one.columns[i] == null, other.columns[i] == null);
        } else {
          compared = one.columns[i].compare(one.ordinals[i], other.columns[i], other.ordinals[i]);
          if (order.get(i).charAt(0) == '-') compared = -compared;
        }
        if (compared != 0) return compared;
      }
      return Long.compare(keys[one.document], keys[other.document]);
    };
  }

  private static String line(Entry entry, List<String> order, long[] keys) throws IOException {
    StringBuilder line = new StringBuilder();
    line.append(keys[entry.document]).append(' ').append(Float.floatToRawIntBits(entry.score));
    for (int i = 0; i < order.size(); i++) {
      if (order.get(i).equals("=")) continue;
      line.append(' ');
      if (entry.columns[i] == null) line.append('-');
      else line.append(Attributes.hexadecimal(entry.columns[i].value(entry.ordinals[i])));
    }
    return line.toString();
  }

  /** Those of some documents: a line for each key with its values of each field, between commas; "-" for none. */
  static List<String> values(Snapshot snapshot, List<String> names, long[] keys) throws IOException {
    String[][] found = new String[keys.length][names.size()];
    for (String[] row : found) Arrays.fill(row, "-");
    for (int segment = 0; segment < snapshot.segments.length; segment++) {
      Map<Integer, Integer> rows = Chosen.find(snapshot.segments[segment], keys);
      for (int i = 0; i < names.size(); i++) {
        for (Attributes.Column column : Attributes.columnsOf(snapshot.segments[segment], names.get(i))) {
          for (Map.Entry<Integer, Integer> row : rows.entrySet()) { // in ascending order of documents
            String values = column.valuesOf(row.getKey());
            if (values.isEmpty()) continue;
            String[] cells = found[row.getValue()];
            cells[i] = cells[i].equals("-") ? values : cells[i] + "," + values;
          }
        }
      }
    }
    List<String> lines = new ArrayList<>();
    for (String[] row : found) lines.add(String.join(" ", row));
    return lines;
  }
}
