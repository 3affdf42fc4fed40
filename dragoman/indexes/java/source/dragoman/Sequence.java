package dragoman;

import java.io.IOException;
import java.util.Arrays;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.BytesRef;

/** The documents of one segment with all of some words, and where in them the words follow one another. */
final class Sequence {
  private final PostingsEnum[] postings;
  private final int most;

  private Sequence(PostingsEnum[] postings, int most) {
    this.postings = postings;
    this.most = most;
  }

  /** Null where no document has one of the words, or where the field has no positions. */
  static Sequence of(TermsEnum entry, String[] words) throws IOException {
    PostingsEnum[] postings = new PostingsEnum[words.length];
    int most = Integer.MAX_VALUE;
    for (int i = 0; i < words.length; i++) {
      if (!entry.seekExact(new BytesRef(words[i]))) return null;
      most = Math.min(most, entry.docFreq());
      postings[i] = entry.postings(null, PostingsEnum.POSITIONS);
    }
    return new Sequence(postings, most);
  }

  /** The most documents that there can be. */
  int most() {
    return most;
  }

  /** The next document with all words, or {@code NO_MORE_DOCS}. */
  int nextDocument() throws IOException {
    int document = postings[0].nextDoc();
    for (int i = 1; i < postings.length && document != PostingsEnum.NO_MORE_DOCS; ) {
      int other = postings[i].docID();
      if (other < document) other = postings[i].advance(document);
      if (other == document) {
        i++;
      } else {
        document = other == PostingsEnum.NO_MORE_DOCS ? other : postings[0].advance(other);
        i = 1;
      }
    }
    return document;
  }

  /** How often the words follow one another in the document; 0 where positions are not indexed. */
  int occurrences() throws IOException {
    int[] starts = positions(postings[0]);
    int count = starts.length;
    for (int i = 1; i < postings.length && count > 0; i++) {
      int[] next = positions(postings[i]);
      int kept = 0;
      for (int j = 0; j < count; j++) {
        if (Arrays.binarySearch(next, starts[j] + i) >= 0) starts[kept++] = starts[j];
      }
      count = kept;
    }
    return count;
  }

  private static int[] positions(PostingsEnum postings) throws IOException {
    int[] positions = new int[postings.freq()];
    for (int i = 0; i < positions.length; i++) {
      positions[i] = postings.nextPosition();
      if (positions[i] < 0) return new int[0];
    }
    return positions;
  }
}
