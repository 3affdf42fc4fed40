package dragoman;

import java.io.IOException;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.index.Terms;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;

/** The scores of chosen documents: for each group, and together. */
final class Chosen implements Query.Receiver {
  /** Row by row (documents, groups and their weighted sum), then what is attainable. */
  final double[] scores;

  private final int columns;

  /** For each segment, the row of each chosen document. */
  private final NavigableMap<Integer, Integer>[] rows;

  @SuppressWarnings({"unchecked", "rawtypes"})
  Chosen(Snapshot snapshot, long[] keys, Query query) throws IOException {
    columns = query.attainable.length + 1;
    scores = new double[(keys.length + 1) * columns];
    System.arraycopy(query.attainable, 0, scores, keys.length * columns, columns - 1);
    scores[scores.length - 1] = query.most();
    rows = new NavigableMap[snapshot.segments.length];
    for (int segment = 0; segment < rows.length; segment++) {
      rows[segment] = find(snapshot.segments[segment], keys);
    }
  }

  /** The row of each of the live documents with these keys, by document. */
  static NavigableMap<Integer, Integer> find(LeafReader reader, long[] keys) throws IOException {
    NavigableMap<Integer, Integer> found = new TreeMap<>();
    Terms terms = reader.terms(Snapshot.KEY);
    if (terms == null) return found;
    Bits live = reader.getLiveDocs();
    TermsEnum entry = terms.iterator();
    PostingsEnum postings = null;
    for (int row = 0; row < keys.length; row++) {
      if (!entry.seekExact(new BytesRef(Long.toString(keys[row])))) continue;
      postings = entry.postings(postings, PostingsEnum.NONE);
      for (int document; (document = postings.nextDoc()) != PostingsEnum.NO_MORE_DOCS; ) {
        if (live == null || live.get(document)) found.put(document, row);
      }
    }
    return found;
  }

  @Override
  public int next(int segment, int first) {
    Integer next = rows[segment].ceilingKey(first);
    return next == null ? Integer.MAX_VALUE : next;
  }

  private void write(int column, Window window, double[] sums, IntToFloat score) {
    rows[window.segment]
        .subMap(window.first, window.end)
        .forEach(
            (document, row) -> {
              int place = document - window.first;
              if (sums[place] > 0) scores[row * columns + column] = score.of(place);
            });
  }

  private interface IntToFloat {
    float of(int place);
  }

  @Override
  public void group(int group, Window window) {
    write(group, window, window.scores, window::score);
  }

  @Override
  public void totals(Window window) {
    write(columns - 1, window, window.totals, window::total);
  }
}
