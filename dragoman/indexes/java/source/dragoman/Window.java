package dragoman;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** The sums of a range of a segment's documents. Used again by later queries: a large array takes long to clear. */
final class Window {
  static final int SIZE = 1 << 14;

  private static final Queue<Window> UNUSED = new ConcurrentLinkedQueue<>();

  int segment;
  int first;
  int end;

  /** The sum of the present group for each document, and the places in it that are not 0, in any order. */
  final double[] scores = new double[SIZE];

  final int[] matches = new int[SIZE];
  int matching;

  /** The same for all groups so far. */
  final double[] totals = new double[SIZE];

  final int[] hits = new int[SIZE];
  int hitting;

  static Window take() {
    Window unused = UNUSED.poll();
    return unused == null ? new Window() : unused;
  }

  /** Must not be called if a score was left behind. */
  void giveBack() {
    UNUSED.add(this);
  }

  void move(int segment, int first, int end) {
    this.segment = segment;
    this.first = first;
    this.end = end;
  }

  /** Adds a positive number, which is not lost if it is too small for a double. */
  void add(int document, double score) {
    int place = document - first;
    if (scores[place] == 0) {
      matches[matching++] = place;
      scores[place] = Math.max(score, Double.MIN_VALUE);
    } else {
      scores[place] += score;
    }
  }

  /** The group's score at a place, as a positive number of 32 bits. */
  float score(int place) {
    return Math.max((float) scores[place], Float.MIN_VALUE);
  }

  float total(int place) {
    return Math.max((float) totals[place], Float.MIN_VALUE);
  }

  /** Adds the weighted scores of the group to the totals, and clears them. */
  void endGroup(double weight) {
    for (int i = 0; i < matching; i++) {
      int place = matches[i];
      if (totals[place] == 0) hits[hitting++] = place;
      totals[place] += Math.max(score(place) * weight, Double.MIN_VALUE);
      scores[place] = 0;
    }
    matching = 0;
  }

  void clear() {
    for (int i = 0; i < hitting; i++) totals[hits[i]] = 0;
    hitting = 0;
  }
}
