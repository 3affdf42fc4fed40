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

/** The scores of chosen documents for each group. */
final class Chosen implements Query.Receiver {
  /** Row by row (documents, groups), then the attainable score of each group. */
  final double[] scores;

  private final int groups;

  /** For each segment, the row of each chosen document. */
  private final NavigableMap<Integer, Integer>[] rows;

  @SuppressWarnings({"unchecked", "rawtypes"})
  Chosen(Snapshot snapshot, long[] keys, double[] attainable) throws IOException {
    groups = attainable.length;
    scores = new double[(keys.length + 1) * groups];
    System.arraycopy(attainable, 0, scores, keys.length * groups, groups);
    rows = new NavigableMap[snapshot.segments.length];
    for (int segment = 0; segment < rows.length; segment++) {
      rows[segment] = find(snapshot.segments[segment], keys);
    }
  }

  private static NavigableMap<Integer, Integer> find(LeafReader reader, long[] keys) throws IOException {
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

  @Override
  public void group(int group, Window window) {
    rows[window.segment]
        .subMap(window.first, window.end)
        .forEach(
            (document, row) -> {
              int place = document - window.first;
              if (window.scores[place] > 0) scores[row * groups + group] = window.score(place);
            });
  }

  @Override
  public void totals(Window window) {}
}
