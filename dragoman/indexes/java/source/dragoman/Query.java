package dragoman;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.SmallFloat;

/**
 * A translated query over one field, and its BM25 scores of every document that has one of its terms. The statistics are
 * those of this index, or of all indexes that it is a part of: scores are then the same as in one index.
 */
final class Query {
  /** Receives the scores of a group, and the totals of all groups, of the documents of one window. */
  interface Receiver {
    /** The first document from {@code first} on whose scores are wanted; a large number if there is none. */
    int next(int segment, int first) throws IOException;

    void group(int group, Window window) throws IOException;

    void totals(Window window) throws IOException;
  }

  /** The distinct terms of a group that documents have, by their places among all, with their weights. */
  private static final class Group {
    int[] places;
    long[] frequencies;
    double[] weights;
    double weight;
    double idf;
  }

  final double[] attainable;
  private final Field field;
  private final long[] statistics;
  private final boolean structured;
  private final Term[] terms;
  private final Group[] groups;
  private final double[] norms;

  /** {@code statistics} is null for those of this index. */
  Query(
      Field field,
      boolean structured,
      Term[] terms,
      double[] weights,
      double[] shapes,
      double k1,
      double b,
      long[] statistics) {
    this.field = field;
    this.structured = structured;
    this.terms = terms;
    this.statistics = statistics == null ? field.statistics(terms) : statistics;
    norms = new double[256];
    groups = new Group[shapes.length / 2];
    attainable = new double[groups.length];
    int start = 0;
    for (int i = 0; i < groups.length; i++) {
      int end = start + (int) shapes[2 * i + 1];
      groups[i] = group(weights, start, end);
      groups[i].weight = shapes[2 * i];
      attainable[i] = finish(groups[i]);
      start = end;
    }
    double averageLength = this.statistics[1] == 0 ? 1 : (double) this.statistics[1] / this.statistics[0];
    for (int length = 0; length < norms.length; length++) {
      double words = SmallFloat.byte4ToInt((byte) length);
      norms[length] = k1 * (1 - b + b * words / averageLength);
    }
  }

  /** The same query over another part of the index, whose {@code terms} are the same ones. */
  Query(Query other, Field field, Term[] terms) {
    this.field = field;
    this.terms = terms;
    structured = other.structured;
    statistics = other.statistics;
    groups = other.groups;
    attainable = other.attainable;
    norms = other.norms;
  }

  private Group group(double[] weights, int start, int end) {
    Map<Term, Integer> known = new HashMap<>();
    Group group = new Group();
    group.places = new int[end - start];
    group.frequencies = new long[end - start];
    group.weights = new double[end - start];
    for (int i = start; i < end; i++) {
      long frequency = statistics[Field.STATISTICS + i];
      if (frequency == 0) continue;
      int next = known.size();
      Integer earlier = known.putIfAbsent(terms[i], next);
      group.weights[earlier == null ? next : earlier] += weights[i];
      if (earlier != null) continue;
      group.places[next] = i;
      group.frequencies[next] = frequency;
    }
    group.places = Arrays.copyOf(group.places, known.size());
    group.weights = Arrays.copyOf(group.weights, known.size());
    if (structured) {
      for (int i = 0; i < group.weights.length; i++) group.weights[i] = Math.min(group.weights[i], 1);
    }
    return group;
  }

  /** Computes idf where the group is one term, and else multiplies it into the weights; returns the maximal score. */
  private double finish(Group group) {
    double sum = 0;
    double repeated = 0;
    for (int i = 0; i < group.weights.length; i++) {
      long frequency = group.frequencies[i];
      if (!structured) group.weights[i] *= idf(frequency);
      double counted = structured ? group.weights[i] * frequency : group.weights[i];
      if (structured && terms[group.places[i]].isRepeated()) repeated += counted;
      else sum += counted;
    }
    if (sum == 0) sum = repeated;
    group.idf = structured && sum > 0 ? idf(sum) : 1;
    return structured && sum > 0 ? group.idf : sum;
  }

  /** The same on every machine, unlike {@code Math.log}. */
  private double idf(double frequency) {
    double counted = Math.min(frequency, statistics[0]);
    return StrictMath.log(1 + (statistics[0] - counted + 0.5) / (counted + 0.5));
  }

  /** Scores all documents that the receiver wants, window by window, so that memory does not grow with the index. */
  void score(Receiver receiver) throws IOException {
    Window window = Window.take();
    for (int segment = 0; segment < field.lengths.length; segment++) {
      if (field.lengths[segment] == null) continue;
      Cursor[][] cursors = cursors(segment);
      int size = field.lengths[segment].length;
      for (int first = receiver.next(segment, 0); first < size; first = receiver.next(segment, window.end)) {
        window.move(segment, first, Math.min(first + Window.SIZE, size));
        score(cursors, window, receiver);
      }
    }
    window.giveBack();
  }

  /** Scores one window. A method of its own: within the loop over windows, Java compiles it to code a quarter slower. */
  private void score(Cursor[][] cursors, Window window, Receiver receiver) throws IOException {
    for (int i = 0; i < groups.length; i++) {
      if (cursors[i].length == 0) continue;
      add(groups[i], cursors[i], window);
      receiver.group(i, window);
      window.endGroup(groups[i].weight);
    }
    receiver.totals(window);
    window.clear();
  }

  private Cursor[][] cursors(int segment) throws IOException {
    Cursor[][] cursors = new Cursor[groups.length][];
    TermsEnum[] entries = new TermsEnum[2];
    Bits live = field.snapshot.segments[segment].getLiveDocs();
    for (int i = 0; i < groups.length; i++) {
      List<Cursor> found = new ArrayList<>(groups[i].weights.length);
      for (int j = 0; j < groups[i].weights.length; j++) {
        Term term = terms[groups[i].places[j]];
        if (term.documents[segment] != null) {
          found.add(new Cursor(groups[i].weights[j], term.documents[segment], term.counts[segment]));
        } else if (term.states[segment] != null) {
          int which = Term.isExact(term.text) ? 1 : 0;
          if (entries[which] == null) entries[which] = field.entries(which == 1)[segment];
          entries[which].seekExact(term.bytes(), term.states[segment]);
          PostingsEnum postings = entries[which].postings(null, PostingsEnum.FREQS);
          found.add(new Cursor(groups[i].weights[j], postings, live));
        }
      }
      cursors[i] = found.toArray(new Cursor[0]);
    }
    return cursors;
  }

  /** Adds a group's scores for a group weight of 1 to the window. */
  private void add(Group group, Cursor[] cursors, Window window) throws IOException {
    byte[] lengths = field.lengths[window.segment];
    for (Cursor cursor : cursors) cursor.add(window, lengths, structured ? null : norms);
    if (!structured) return;
    for (int i = 0; i < window.matching; i++) {
      int place = window.matches[i];
      double tf = window.scores[place];
      window.scores[place] = Math.max(group.idf * (tf / (tf + norms[lengths[window.first + place] & 0xff])), Double.MIN_VALUE);
    }
  }

  /** The maximal attainable score. */
  double most() {
    double most = 0;
    for (int i = 0; i < groups.length; i++) most += attainable[i] * groups[i].weight;
    return most;
  }

  /** The answer of {@link Searcher#search}. */
  long[] answer(Best best) {
    int head = 3 + statistics.length;
    long[] answer = new long[head + 2 * best.size()];
    answer[0] = best.size();
    answer[1] = Double.doubleToRawLongBits(most());
    answer[2] = best.matching;
    System.arraycopy(statistics, 0, answer, 3, statistics.length);
    best.write(answer, head);
    return answer;
  }
}
