package dragoman;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.PriorityQueue;

/** The k best documents, the first of equal ones by key. */
final class Best implements Query.Receiver {
  private static final class Hit implements Comparable<Hit> {
    final float score;
    final long key;

    Hit(float score, long key) {
      this.score = score;
      this.key = key;
    }

    /** Worse hits first. */
    @Override
    public int compareTo(Hit other) {
      int order = Float.compare(score, other.score);
      return order != 0 ? order : Long.compare(other.key, key);
    }
  }

  private final Snapshot snapshot;
  private final int k;
  private final PriorityQueue<Hit> hits = new PriorityQueue<>();

  Best(Snapshot snapshot, int k) {
    this.snapshot = snapshot;
    this.k = Math.min(k, snapshot.reader.numDocs());
  }

  @Override
  public int next(int segment, int first) {
    return first;
  }

  @Override
  public void group(int group, Window window) {}

  @Override
  public void totals(Window window) throws IOException {
    if (window.hitting == 0) return;
    long[] keys = snapshot.keys(window.segment);
    for (int i = 0; i < window.hitting; i++) {
      int place = window.hits[i];
      float total = window.total(place);
      if (hits.size() == k && total < hits.peek().score) continue;
      hits.add(new Hit(total, keys[window.first + place]));
      if (hits.size() > k) hits.poll();
    }
  }

  int size() {
    return hits.size();
  }

  /** Writes the keys and then the scores, best first. */
  void write(long[] answer, int start) {
    List<Hit> sorted = new ArrayList<>(hits);
    sorted.sort(Collections.reverseOrder());
    for (Hit hit : sorted) {
      answer[start + sorted.size()] = Double.doubleToRawLongBits(hit.score);
      answer[start++] = hit.key;
    }
  }
}
