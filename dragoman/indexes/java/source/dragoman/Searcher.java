package dragoman;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.ReferenceManager;
import org.apache.lucene.store.Directory;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.FixedBitSet;

/**
 * Searches of one index, from any thread; {@code maybeRefreshBlocking} makes the changes of its writer, or
 * the next commit, searchable.
 *
 * <p>Everything of a query crosses from Python in one call, and everything of its answer back. Lists of strings are
 * one string of lines, since that is by far the fastest to convert.
 */
public final class Searcher extends ReferenceManager<Snapshot> {
  private final IndexWriter writer;
  final Leases leases = new Leases();

  /** The snapshot that {@link #prepare} made, if anything has changed; {@link Parts#refreshAll} uses it. */
  private Snapshot prepared;

  private boolean isPrepared;

  public Searcher(IndexWriter writer) throws IOException {
    this.writer = writer;
    current = new Snapshot(DirectoryReader.open(writer));
  }

  /** Searches the last commit that whoever writes to the directory has made. */
  public Searcher(Directory directory) throws IOException {
    writer = null;
    current = new Snapshot(DirectoryReader.open(directory));
  }

  /** What the commit that is searched says of itself: names and texts by turns, one a line. */
  public String commitData() throws IOException {
    Snapshot snapshot = acquire();
    try {
      List<String> lines = new ArrayList<>();
      for (Map.Entry<String, String> entry : snapshot.reader.getIndexCommit().getUserData().entrySet()) {
        lines.add(entry.getKey());
        lines.add(entry.getValue());
      }
      return String.join("\n", lines);
    } finally {
      release(snapshot);
    }
  }

  /**
   * The k best documents by descending score, then ascending key.
   *
   * @param version of the snapshot that is searched, of {@link #statistics}; 0 for the present one
   * @param structured whether a group is one term of expected frequencies (psq), or a weighted sum of terms
   * @param terms the terms of all groups, one a line
   * @param weights one a term
   * @param groups the weight and the number of terms of each group, by turns
   * @param statistics as of {@link #statistics}, without the version; null for those of this index
   * @param filter as of {@link Filter#of}
   * @return number of hits, maximal attainable score, number of matching documents, the statistics, the key of each hit, the score of each hit; numbers
   *     that are not whole as the bits of a double
   * @throws LeaseExpired the snapshot is there no longer
   */
  public long[] search(
      long version,
      String field,
      boolean structured,
      String terms,
      double[] weights,
      double[] groups,
      double k1,
      double b,
      long[] statistics,
      String filter,
      int k)
      throws IOException {
    return computed(
        version,
        snapshot -> {
          Query query = query(snapshot.field(field), structured, terms, weights, groups, k1, b, statistics);
          Best best = new Best(snapshot, filter, k);
          query.score(best);
          best.finish();
          return query.answer(best);
        });
  }

  /**
   * The scores of chosen documents: for each group, for a group weight of 1, and the weighted sum.
   *
   * @return row by row (keys, groups and the sum), then what is attainable
   * @throws LeaseExpired the snapshot is there no longer
   */
  public double[] parts(
      long version,
      String field,
      boolean structured,
      String terms,
      double[] weights,
      double[] groups,
      double k1,
      double b,
      long[] statistics,
      long[] keys)
      throws IOException {
    return computed(
        version,
        snapshot -> {
          Query query = query(snapshot.field(field), structured, terms, weights, groups, k1, b, statistics);
          Chosen chosen = new Chosen(snapshot, keys, query);
          query.score(chosen);
          return chosen.scores;
        });
  }

  /**
   * What BM25 asks of this index for terms, one a line. The snapshot stays until {@link #endLease}, once for each
   * call.
   *
   * @param version as of {@link #search}
   * @return the snapshot's version, N, the terms of all documents together, the document frequency of each term
   */
  public long[] statistics(long version, String field, String terms) throws IOException {
    return computed(
        version,
        snapshot -> {
          Field read = snapshot.field(field);
          long[] statistics = read.statistics(read.terms(lines(terms)));
          long[] answer = new long[1 + statistics.length];
          answer[0] = snapshot.version;
          System.arraycopy(statistics, 0, answer, 1, statistics.length);
          leases.keep(snapshot);
          return answer;
        });
  }

  /** Opens what the writer has now; searches see it after {@link Parts#refreshAll}. */
  public void prepare() throws IOException {
    Snapshot present = acquire();
    try {
      Snapshot next = open(present);
      forgetPrepared();
      prepared = next;
      isPrepared = true;
    } finally {
      release(present);
    }
  }

  /** Gives a snapshot of {@link #statistics} back. */
  public void endLease(long version) throws IOException {
    leases.release(version);
  }

  /** The document frequency of each of the terms, one a line. */
  public int[] frequencies(String field, String terms) throws IOException {
    Snapshot snapshot = acquire();
    try {
      List<String> lines = lines(terms);
      Term[] found = snapshot.field(field).terms(lines);
      int[] frequencies = new int[found.length];
      for (int i = 0; i < found.length; i++) frequencies[i] = found[i].frequency;
      return frequencies;
    } finally {
      release(snapshot);
    }
  }

  /** N: the number of documents with a term in the field. */
  public int documents(String field) throws IOException {
    Snapshot snapshot = acquire();
    try {
      return snapshot.field(field).documents;
    } finally {
      release(snapshot);
    }
  }

  /** The number of documents. */
  public int documents() throws IOException {
    Snapshot snapshot = acquire();
    try {
      return snapshot.reader.numDocs();
    } finally {
      release(snapshot);
    }
  }

  /** The keys of the documents that a filter leaves, in ascending order; the version as of {@link #search}. */
  public long[] keys(long version, String filter) throws IOException {
    return computed(version, snapshot -> keys(snapshot, filter));
  }

  private static long[] keys(Snapshot snapshot, String filter) throws IOException {
    FixedBitSet[] accepted = Filter.of(snapshot, filter);
    long[] found = new long[snapshot.reader.numDocs()];
    int count = 0;
    for (int segment = 0; segment < accepted.length; segment++) {
      long[] keys = snapshot.keys(segment);
      Bits live = snapshot.segments[segment].getLiveDocs();
      for (int document = 0; document < keys.length; document++) {
        if (accepted[segment].get(document) && (live == null || live.get(document))) found[count++] = keys[document];
      }
    }
    found = Arrays.copyOf(found, count);
    Arrays.sort(found);
    return found;
  }

  /**
   * What all documents that a query matches have in common, and the first of them in an order.
   *
   * @param facets fields, one a line, as of {@link Matches#facets}; or empty
   * @param order as of {@link Matches#first}; or empty
   * @return the number of documents, then the number of lines of the facets, these lines, and those of the order
   */
  public String matches(
      long version,
      String field,
      boolean structured,
      String terms,
      double[] weights,
      double[] groups,
      double k1,
      double b,
      long[] statistics,
      String filter,
      String facets,
      String order,
      int k)
      throws IOException {
    return computed(
        version,
        snapshot -> {
          Matches matches = new Matches(snapshot, filter, !order.isEmpty());
          query(snapshot.field(field), structured, terms, weights, groups, k1, b, statistics).score(matches);
          List<String> counted = facets.isEmpty() ? List.of() : matches.facets(lines(facets));
          List<String> lines = new ArrayList<>(List.of(Long.toString(matches.count()), "" + counted.size()));
          lines.addAll(counted);
          if (!order.isEmpty()) lines.addAll(matches.first(lines(order), k));
          return String.join("\n", lines);
        });
  }

  /** The values of fields, one a line, of the documents with some keys, as of {@link Matches#values}. */
  public String values(String fields, long[] keys) throws IOException {
    Snapshot snapshot = acquire();
    try {
      return String.join("\n", Matches.values(snapshot, lines(fields), keys));
    } finally {
      release(snapshot);
    }
  }

  /** The rest of each term that begins with the prefix, one a line; also of terms of deleted documents. */
  public String completions(String field, String prefix) throws IOException {
    Snapshot snapshot = acquire();
    try {
      Terms terms = MultiTerms.getTerms(snapshot.reader, field);
      StringBuilder found = new StringBuilder();
      if (terms == null) return "";
      TermsEnum entries = terms.iterator();
      if (entries.seekCeil(new BytesRef(prefix)) == TermsEnum.SeekStatus.END) return "";
      for (BytesRef entry = entries.term(); entry != null; entry = entries.next()) {
        String text = entry.utf8ToString();
        if (!text.startsWith(prefix)) break;
        found.append(text, prefix.length(), text.length()).append('\n');
      }
      return found.toString();
    } finally {
      release(snapshot);
    }
  }

  /** Reads all files and compares their checksums. */
  public void checkIntegrity() throws IOException {
    Snapshot snapshot = acquire();
    try {
      for (LeafReaderContext leaf : snapshot.reader.leaves()) leaf.reader().checkIntegrity();
    } finally {
      release(snapshot);
    }
  }

  private static Query query(
      Field field,
      boolean structured,
      String terms,
      double[] weights,
      double[] groups,
      double k1,
      double b,
      long[] statistics)
      throws IOException {
    Term[] found = weights.length == 0 ? new Term[0] : field.terms(lines(terms));
    return new Query(field, structured, found, weights, groups, k1, b, statistics);
  }

  private interface Computation<T> {
    T on(Snapshot snapshot) throws IOException;
  }

  /** What is computed on a snapshot; where memory is out, once more without the postings kept so far. */
  private <T> T computed(long version, Computation<T> computation) throws IOException {
    Snapshot snapshot = acquire();
    try {
      if (version != 0 && version != snapshot.version) {
        Snapshot leased = leases.take(version);
        release(snapshot);
        snapshot = leased;
      }
      try {
        return computation.on(snapshot);
      } catch (OutOfMemoryError error) {
        Snapshot.forgetAll();
        return computation.on(snapshot);
      }
    } finally {
      release(snapshot);
    }
  }

  static List<String> lines(String text) {
    List<String> lines = new ArrayList<>();
    int start = 0;
    for (int end; (end = text.indexOf('\n', start)) >= 0; start = end + 1) lines.add(text.substring(start, end));
    lines.add(text.substring(start));
    return lines;
  }

  private Snapshot open(Snapshot older) throws IOException {
    DirectoryReader newer =
        writer == null ? DirectoryReader.openIfChanged(older.reader) : DirectoryReader.openIfChanged(older.reader, writer);
    return newer == null ? null : new Snapshot(newer);
  }

  private void forgetPrepared() throws IOException {
    Snapshot unused = prepared;
    prepared = null;
    isPrepared = false;
    if (unused != null) unused.leave();
  }

  @Override
  protected Snapshot refreshIfNeeded(Snapshot older) throws IOException {
    if (!isPrepared) return open(older);
    Snapshot next = prepared;
    prepared = null;
    isPrepared = false;
    return next;
  }

  @Override
  protected void afterClose() throws IOException {
    forgetPrepared();
    leases.releaseAll();
  }

  @Override
  protected boolean tryIncRef(Snapshot snapshot) {
    return snapshot.reader.tryIncRef();
  }

  @Override
  protected void decRef(Snapshot snapshot) throws IOException {
    snapshot.leave();
  }

  @Override
  protected int getRefCount(Snapshot snapshot) {
    return snapshot.reader.getRefCount();
  }
}
