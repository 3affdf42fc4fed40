package dragoman;

import java.io.IOException;
import java.util.Arrays;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.TermState;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;

/**
 * A term's live documents. Those of a frequent term are read anew for each query, since they would fill the heap. A term
 * with spaces is a sequence of words; its documents are kept, since finding them takes time.
 */
final class Term {
  static final int FREQUENT = 1 << 14;

  /** What an entry of the cache takes at least, in postings of 8 bytes. */
  private static final int ENTRY = 20;

  /** The headers of the two arrays of a segment, in postings. */
  private static final int ARRAYS = 4;

  /** Before a word that is looked for as it is written, in the field of words and not in that of index terms. */
  private static final char EXACT = '\u0003';

  /** Before a word that is looked for among the index terms, beside another term of its documents. */
  private static final char AGAIN = '\u0005';

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
    String[] words = text.split(" ");
    BytesRef bytes = bytes();
    for (int segment = 0; segment < segments.length; segment++) {
      TermsEnum entry = entries[segment];
      if (entry == null) continue;
      Bits live = segments[segment].getLiveDocs();
      if (words.length > 1) frequency += readSequence(segment, live, Sequence.of(entry, words));
      else if (entry.seekExact(bytes)) frequency += read(segment, live, entry);
    }
    this.frequency = frequency;
  }

  /** Counts the places where the words follow one another; {@code sequence} is null where one word is missing. */
  private int readSequence(int segment, Bits live, Sequence sequence) throws IOException {
    if (sequence == null) return 0;
    int[] held = new int[sequence.most()];
    int[] occurrences = new int[held.length];
    int count = 0;
    for (int document; (document = sequence.nextDocument()) != PostingsEnum.NO_MORE_DOCS; ) {
      if (live != null && !live.get(document)) continue;
      int found = sequence.occurrences();
      if (found == 0) continue;
      held[count] = document;
      occurrences[count++] = found;
    }
    if (count > 0) {
      documents[segment] = Arrays.copyOf(held, count);
      counts[segment] = Arrays.copyOf(occurrences, count);
    }
    return count;
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

  static boolean isExact(String text) {
    return !text.isEmpty() && text.charAt(0) == EXACT;
  }

  /** Whether its documents are those of another term of a query: it adds to tf, and not to df. */
  boolean isRepeated() {
    return isExact(text) || (!text.isEmpty() && text.charAt(0) == AGAIN);
  }

  /** The term as the index has it. */
  BytesRef bytes() {
    return new BytesRef(isRepeated() ? text.substring(1) : text);
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
