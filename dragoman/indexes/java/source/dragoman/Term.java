package dragoman;

import java.io.IOException;
import java.util.Arrays;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.TermState;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;

/** A term's live documents. Those of a frequent term are read anew for each query, since they would fill the heap. */
final class Term {
  static final int FREQUENT = 1 << 14;

  /** What an entry of the cache takes at least, in postings of 8 bytes. */
  private static final int ENTRY = 20;

  /** The headers of the two arrays of a segment, in postings. */
  private static final int ARRAYS = 4;

  final String text;

  /** The number of live documents. */
  final int frequency;

  /** For each segment, the documents and the term's frequency in each; null where they are not kept. */
  final int[][] documents;

  final int[][] counts;

  /** Where to find the postings that are not kept; null where there are none. */
  final TermState[] states;

  Term(LeafReader[] segments, TermsEnum[] entries, String text) throws IOException {
    this.text = text;
    documents = new int[segments.length][];
    counts = new int[segments.length][];
    states = new TermState[segments.length];
    int frequency = 0;
    BytesRef bytes = new BytesRef(text);
    for (int segment = 0; segment < segments.length; segment++) {
      TermsEnum entry = entries[segment];
      if (entry != null && entry.seekExact(bytes)) frequency += read(segment, segments[segment].getLiveDocs(), entry);
    }
    this.frequency = frequency;
  }

  private int read(int segment, Bits live, TermsEnum entry) throws IOException {
    boolean frequent = entry.docFreq() > FREQUENT;
    if (frequent) {
      states[segment] = entry.termState();
      if (live == null) return entry.docFreq();
    }
    int[] held = frequent ? null : new int[entry.docFreq()];
    int[] occurrences = frequent ? null : new int[entry.docFreq()];
    PostingsEnum postings = entry.postings(null, frequent ? PostingsEnum.NONE : PostingsEnum.FREQS);
    int count = 0;
    for (int document; (document = postings.nextDoc()) != PostingsEnum.NO_MORE_DOCS; ) {
      if (live != null && !live.get(document)) continue;
      if (!frequent) {
        held[count] = document;
        occurrences[count] = postings.freq();
      }
      count++;
    }
    if (!frequent && count > 0) {
      documents[segment] = count < held.length ? Arrays.copyOf(held, count) : held;
      counts[segment] = count < held.length ? Arrays.copyOf(occurrences, count) : occurrences;
    }
    return count;
  }

  /** What the term takes in memory, in postings of 8 bytes. */
  int kept() {
    int kept = ENTRY + text.length() / 4 + 2 * documents.length;
    for (int[] held : documents) kept += held == null ? 0 : ARRAYS + held.length;
    return kept;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Term && text.equals(((Term) other).text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }
}
