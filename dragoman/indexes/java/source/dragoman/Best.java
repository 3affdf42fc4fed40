package dragoman;

import java.io.IOException;
import java.util.Arrays;
import org.apache.lucene.util.FixedBitSet;

/**
 * The k best documents, the first of equal ones by key. What may be among them is gathered in arrays, which are cut to
 * the k best where they are full: for large k a heap would take longer than the scores.
 */
final class Best implements Query.Receiver {
  private static final int ROOM = 4;

  private final int k;
  private Snapshot snapshot;
  private FixedBitSet[] accepted;

  /** In all snapshots so far. */
  private long documents;

  private float[] scores = {};
  private long[] keys = {};
  private int count;

  /** All documents, also those that are not among the best. */
  long matching = 0;

  /** What a document needs at least. */
  private float least;

  Best(int k) {
    this.k = k;
  }

  Best(Snapshot snapshot, String filter, int k) throws IOException {
    this(k);
    enter(snapshot, filter);
  }

  /**
   * What follows is of this snapshot, whose documents are in none before, and of the documents that a filter leaves: see
   * {@link Filter#of}.
   */
  void enter(Snapshot snapshot, String filter) throws IOException {
    this.snapshot = snapshot;
    accepted = Filter.of(snapshot, filter);
    documents += snapshot.reader.numDocs();
    resize((int) Math.min((long) ROOM * k, Math.min(documents, Integer.MAX_VALUE - ROOM)));
  }

  private void resize(int room) {
    if (room == scores.length) return;
    scores = Arrays.copyOf(scores, room);
    keys = Arrays.copyOf(keys, room);
  }

  @Override
  public int next(int segment, int first) {
    if (accepted == null) return first;
    return first < accepted[segment].length() ? accepted[segment].nextSetBit(first) : Integer.MAX_VALUE;
  }

  @Override
  public void group(int group, Window window) {}

  @Override
  public void totals(Window window) throws IOException {
    if (window.hitting == 0) return;
    long[] ofSegment = snapshot.keys(window.segment);
    if (accepted != null) {
      filteredTotals(window, ofSegment, accepted[window.segment]);
      return;
    }
    matching += window.hitting;
    for (int i = 0; i < window.hitting; i++) {
      int place = window.hits[i];
      float total = window.total(place);
      if (total >= least) gather(total, ofSegment[window.first + place]);
    }
  }

  private void filteredTotals(Window window, long[] ofSegment, FixedBitSet ofFilter) {
    for (int i = 0; i < window.hitting; i++) {
      int place = window.hits[i];
      if (!ofFilter.get(window.first + place)) continue;
      matching++;
      float total = window.total(place);
      if (total >= least) gather(total, ofSegment[window.first + place]);
    }
  }

  private void gather(float total, long key) {
    if (count == scores.length) {
      cut();
      if (total < least) return;
    }
    scores[count] = total;
    keys[count++] = key;
  }

  /** Leaves the k best: all above the k-th score, and of those that have it the first by key. */
  private void cut() {
    if (count <= k) return;
    least = select();
    int kept = 0;
    int equal = 0;
    long[] equals = new long[count];
    for (int i = 0; i < count; i++) {
      if (scores[i] > least) {
        scores[kept] = scores[i];
        keys[kept++] = keys[i];
      } else if (scores[i] == least) {
        equals[equal++] = keys[i];
      }
    }
    Arrays.sort(equals, 0, equal);
    for (int i = 0; kept < k; i++) {
      scores[kept] = least;
      keys[kept++] = equals[i];
    }
    count = kept;
  }

  /** The k-th greatest score, by Hoare's quickselect. */
  private float select() {
    float[] values = Arrays.copyOf(scores, count);
    int low = 0;
    int high = count - 1;
    while (low < high) {
      float pivot = values[(low + high) >>> 1];
      int i = low;
      int j = high;
      while (i <= j) {
        while (values[i] > pivot) i++;
        while (values[j] < pivot) j--;
        if (i <= j) {
          float swapped = values[i];
          values[i++] = values[j];
          values[j--] = swapped;
        }
      }
      if (k - 1 <= j) high = j;
      else if (k - 1 >= i) low = i;
      else break;
    }
    return values[k - 1];
  }

  /** Leaves the k best in their order: by score, and equal ones by key. */
  void finish() {
    cut();
    long[] order = new long[count];
    for (int i = 0; i < count; i++) { // scores are positive, so that their bits have their order
      order[i] = (long) (Integer.MAX_VALUE - Float.floatToRawIntBits(scores[i])) << 32 | i;
    }
    Arrays.sort(order);
    float[] sortedScores = new float[count];
    long[] sortedKeys = new long[count];
    for (int i = 0; i < count; i++) {
      sortedScores[i] = scores[(int) order[i]];
      sortedKeys[i] = keys[(int) order[i]];
    }
    for (int start = 0, end; start < count; start = end) {
      for (end = start + 1; end < count && sortedScores[end] == sortedScores[start]; ) end++;
      Arrays.sort(sortedKeys, start, end);
    }
    scores = sortedScores;
    keys = sortedKeys;
  }

  /** The k best of several, each as {@link #finish} leaves it; of one its own. */
  static Best join(Best[] parts, int k) {
    if (parts.length == 1) return parts[0];
    int count = 0;
    for (Best part : parts) count += part.count;
    Best joined = new Best(Math.min(k, count));
    for (Best part : parts) joined.matching += part.matching;
    joined.resize(joined.k);
    int[] places = new int[parts.length];
    while (joined.count < joined.k) {
      int next = -1;
      for (int i = 0; i < parts.length; i++) {
        if (places[i] < parts[i].count && (next < 0 || parts[i].precedes(places[i], parts[next], places[next]))) next = i;
      }
      joined.scores[joined.count] = parts[next].scores[places[next]];
      joined.keys[joined.count++] = parts[next].keys[places[next]++];
    }
    return joined;
  }

  private boolean precedes(int place, Best other, int otherPlace) {
    float score = scores[place];
    float otherScore = other.scores[otherPlace];
    return score > otherScore || (score == otherScore && keys[place] < other.keys[otherPlace]);
  }

  int size() {
    return count;
  }

  /** The keys, in the order of the documents. */
  long[] keys() {
    return Arrays.copyOf(keys, count);
  }

  /** Writes the keys and then the scores, as {@link #finish} leaves them. */
  void write(long[] answer, int start) {
    for (int i = 0; i < count; i++) {
      answer[start + i] = keys[i];
      answer[start + count + i] = Double.doubleToRawLongBits(scores[i]);
    }
  }
}
