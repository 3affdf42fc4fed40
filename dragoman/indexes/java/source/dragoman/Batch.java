package dragoman;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/**
 * Queries over several fields and indexes in one call, since each crossing from Python takes time. An index may have
 * several parts. Each part is scored by the sums of the statistics of all, so that scores are those of one index.
 *
 * <p>All arguments are of all queries, one after the other: {@code searchers} of the parts of each; {@code shapes}, four
 * numbers a query: parts, terms, groups, keys; {@code parameters}, three: 1 if a group is one term of expected
 * frequencies, k1, b; {@code fields} and {@code terms}, one a line; {@code weights} and {@code groups} as for {@link
 * Searcher#search}. Parts are searched by up to {@code processors} threads, for at most {@code millis}.
 */
public final class Batch {
  private static final int SHAPE = 4;
  private static final int PARAMETERS = 3;

  private interface Work {
    /** The work of one part, by its place among all; {@code alone} if on a thread of its own. */
    void on(int part, boolean alone) throws IOException;
  }

  private final Searcher[] searchers;
  private final int[] shapes;
  private final double[] parameters;
  private final List<String> fields;
  private final List<String> terms;
  private final double[] weights;
  private final double[] groups;
  private final Processors processors;
  private final int count;

  /** For each query, and for their end, the first of its parts, terms, groups and keys. */
  private final int[][] firsts;

  /** For each part, its query. */
  private final int[] queryOf;

  private final Snapshot[] snapshots;
  private final Query[] queries;

  private Batch(
      Searcher[] searchers,
      int[] shapes,
      double[] parameters,
      String fields,
      String terms,
      double[] weights,
      double[] groups,
      Processors processors) {
    this.searchers = searchers;
    this.shapes = shapes;
    this.parameters = parameters;
    this.fields = Searcher.lines(fields);
    this.terms = Searcher.lines(terms);
    this.weights = weights;
    this.groups = groups;
    this.processors = processors;
    count = shapes.length / SHAPE;
    firsts = new int[SHAPE][count + 1];
    for (int of = 0; of < SHAPE; of++) {
      for (int i = 0; i < count; i++) firsts[of][i + 1] = firsts[of][i] + shapes[SHAPE * i + of];
    }
    queryOf = new int[searchers.length];
    for (int i = 0; i < count; i++) Arrays.fill(queryOf, firsts[0][i], firsts[0][i + 1], i);
    snapshots = new Snapshot[searchers.length];
    queries = new Query[searchers.length];
  }

  /**
   * The k best documents of each query.
   *
   * @param filters of each query, as of {@link Filter#of}, one a line
   * @param linked whether the scores of these documents for the groups are wanted too
   * @return for each query the size of its answer, and the answer as of {@link Searcher#search}; then, where they are
   *     wanted, the scores as of {@link Searcher#parts}
   * @throws TimeoutException there was no time
   */
  public static long[] search(
      Searcher[] searchers,
      int[] shapes,
      double[] parameters,
      String fields,
      String terms,
      double[] weights,
      double[] groups,
      String filters,
      int k,
      boolean linked,
      int processors,
      long millis)
      throws IOException, TimeoutException {
    List<String> filter = Searcher.lines(filters);
    Batch batch =
        new Batch(searchers, shapes, parameters, fields, terms, weights, groups, new Processors(processors, millis));
    Best[] best = new Best[searchers.length];
    Map<Query, Best> shared = new IdentityHashMap<>(); // of parts that whoever asks searches one after the other
    return batch.computed(
        (part, alone) -> {
          Query first = batch.queries[batch.firsts[0][batch.queryOf[part]]];
          Best found = alone ? new Best(k) : shared.computeIfAbsent(first, query -> new Best(k));
          found.enter(batch.snapshots[part], filter.get(batch.queryOf[part]));
          batch.queries[part].score(found);
          if (alone) found.finish();
          best[part] = found;
        },
        () -> {
          shared.values().forEach(Best::finish);
          List<long[]> answers = new ArrayList<>();
          long[][] keys = new long[batch.count][];
          int size = 0;
          for (int i = 0; i < batch.count; i++) {
            List<Best> ofQuery = Arrays.asList(best).subList(batch.firsts[0][i], batch.firsts[0][i + 1]);
            Best joined = Best.join(new LinkedHashSet<>(ofQuery).toArray(new Best[0]), k);
            answers.add(batch.queries[batch.firsts[0][i]].answer(joined));
            keys[i] = joined.keys();
          }
          double[][] linksOf = linked ? batch.links(keys) : new double[batch.count][0];
          for (int i = 0; i < batch.count; i++) size += 1 + answers.get(i).length + linksOf[i].length;
          long[] joined = new long[size];
          int place = 0;
          for (int i = 0; i < batch.count; i++) {
            long[] answer = answers.get(i);
            joined[place++] = answer.length;
            System.arraycopy(answer, 0, joined, place, answer.length);
            place += answer.length;
            for (double link : linksOf[i]) joined[place++] = Double.doubleToRawLongBits(link);
          }
          return joined;
        });
  }

  /**
   * The scores of chosen documents for the groups of each query.
   *
   * @param keys of the documents of each query
   * @return the answers as of {@link Searcher#parts}, one after the other
   * @throws TimeoutException there was no time
   */
  public static double[] parts(
      Searcher[] searchers,
      int[] shapes,
      double[] parameters,
      String fields,
      String terms,
      double[] weights,
      double[] groups,
      long[] keys,
      int processors,
      long millis)
      throws IOException, TimeoutException {
    Batch batch =
        new Batch(searchers, shapes, parameters, fields, terms, weights, groups, new Processors(processors, millis));
    double[][] scores = new double[searchers.length][];
    return batch.computed(
        (part, alone) -> {
          int[] first = batch.firsts[3];
          long[] chosen = Arrays.copyOfRange(keys, first[batch.queryOf[part]], first[batch.queryOf[part] + 1]);
          Chosen found = new Chosen(batch.snapshots[part], chosen, batch.queries[part]);
          batch.queries[part].score(found);
          scores[part] = found.scores;
        },
        () -> {
          int size = 0;
          for (int i = 0; i < batch.count; i++) size += scores[batch.firsts[0][i]].length;
          double[] joined = new double[size];
          int place = 0;
          for (int i = 0; i < batch.count; i++) {
            for (int part = batch.firsts[0][i]; part < batch.firsts[0][i + 1]; part++) {
              // a document is in one part, and what is attainable is the same in all
              for (int j = 0; j < scores[part].length; j++) {
                joined[place + j] = Math.max(joined[place + j], scores[part][j]);
              }
            }
            place += scores[batch.firsts[0][i]].length;
          }
          return joined;
        });
  }

  /** The scores of each query's documents for its groups, as of {@link Searcher#parts}. */
  private double[][] links(long[][] keys) throws IOException, TimeoutException {
    double[][] ofParts = new double[searchers.length][];
    each(
        (part, alone) -> {
          Chosen found = new Chosen(snapshots[part], keys[queryOf[part]], queries[part]);
          queries[part].score(found);
          ofParts[part] = found.scores;
        });
    double[][] joined = new double[count][];
    for (int part = 0; part < searchers.length; part++) {
      joined[queryOf[part]] = join(joined[queryOf[part]], ofParts[part]);
    }
    return joined;
  }

  /** The scores of parts together: a document is in one part, and what is attainable is the same in all. */
  private static double[] join(double[] joined, double[] scores) {
    if (joined == null) return scores;
    for (int i = 0; i < scores.length; i++) joined[i] = Math.max(joined[i], scores[i]);
    return joined;
  }

  private interface Answer<T> {
    T of() throws IOException, TimeoutException;
  }

  private <T> T computed(Work work, Answer<T> answer) throws IOException, TimeoutException {
    try {
      return onSnapshots(work, answer);
    } catch (OutOfMemoryError error) {
      Snapshot.forgetAll();
      return onSnapshots(work, answer);
    }
  }

  private <T> T onSnapshots(Work work, Answer<T> answer) throws IOException, TimeoutException {
    Map<Searcher, Snapshot> acquired = new IdentityHashMap<>(); // one for all languages of an index
    for (Searcher searcher : searchers) acquired.put(searcher, null);
    Searcher[] parts = acquired.keySet().toArray(new Searcher[0]);
    Snapshot[] ofParts = Parts.acquireAll(parts);
    try {
      for (int i = 0; i < parts.length; i++) acquired.put(parts[i], ofParts[i]);
      for (int part = 0; part < searchers.length; part++) snapshots[part] = acquired.get(searchers[part]);
      prepare();
      each(work);
      return answer.of();
    } finally {
      for (int i = 0; i < parts.length; i++) parts[i].release(ofParts[i]);
    }
  }

  /** Reads the terms of all parts, and makes the query of each by the sums of their statistics. */
  private void prepare() throws IOException, TimeoutException {
    Field[] read = new Field[searchers.length];
    Term[][] found = new Term[searchers.length][];
    each(
        (part, alone) -> {
          int i = queryOf[part];
          read[part] = snapshots[part].field(fields.get(i));
          found[part] = read[part].terms(terms.subList(firsts[1][i], firsts[1][i + 1]));
        });
    for (int i = 0; i < count; i++) {
      long[] sums = new long[Field.STATISTICS + shapes[SHAPE * i + 1]];
      for (int part = firsts[0][i]; part < firsts[0][i + 1]; part++) {
        long[] statistics = read[part].statistics(found[part]);
        for (int j = 0; j < sums.length; j++) sums[j] += statistics[j];
      }
      double[] ofTerms = Arrays.copyOfRange(weights, firsts[1][i], firsts[1][i + 1]);
      double[] ofGroups = Arrays.copyOfRange(groups, 2 * firsts[2][i], 2 * firsts[2][i + 1]);
      boolean structured = parameters[PARAMETERS * i] == 1;
      double k1 = parameters[PARAMETERS * i + 1];
      double b = parameters[PARAMETERS * i + 2];
      int first = firsts[0][i];
      queries[first] = new Query(read[first], structured, found[first], ofTerms, ofGroups, k1, b, sums);
      for (int part = first + 1; part < firsts[0][i + 1]; part++) {
        queries[part] = new Query(queries[first], read[part], found[part]);
      }
    }
  }

  /** Does the work of each part, of an index with several ones on a thread of its own; what is late goes on by itself. */
  private void each(Work work) throws IOException, TimeoutException {
    try {
      for (int i = 0; i < count; i++) {
        boolean several = shapes[SHAPE * i] > 1;
        for (int j = firsts[0][i]; j < firsts[0][i + 1]; j++) {
          int part = j;
          if (several) processors.submit(snapshots[part], alone -> work.on(part, alone));
          else processors.compute(alone -> work.on(part, alone));
        }
      }
    } finally {
      processors.join();
    }
  }
}
