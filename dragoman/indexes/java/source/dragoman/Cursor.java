package dragoman;

import java.io.IOException;
import java.util.Arrays;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.util.Bits;

/** A walk over the documents of one weighted term in one segment. */
final class Cursor {
  private final double weight;
  private final int[] documents;
  private final int[] counts;
  private final PostingsEnum postings;
  private final Bits live;
  private int place;

  Cursor(double weight, int[] documents, int[] counts) {
    this.weight = weight;
    this.documents = documents;
    this.counts = counts;
    postings = null;
    live = null;
  }

  Cursor(double weight, PostingsEnum postings, Bits live) {
    this.weight = weight;
    documents = counts = null;
    this.postings = postings;
    this.live = live;
  }

  /**
   * Adds the weighted frequency in each document of the window, with {@code norms} the weighted saturated frequency
   * {@code tf / (tf + norm)}. Windows must come in ascending order.
   */
  void add(Window window, byte[] lengths, double[] norms) throws IOException {
    if (postings != null) {
      read(window, lengths, norms);
      return;
    }
    int i = place;
    if (i < documents.length && documents[i] < window.first) {
      i = Arrays.binarySearch(documents, i, documents.length, window.first);
      if (i < 0) i = -i - 1;
    }
    for (; i < documents.length && documents[i] < window.end; i++) {
      double tf = counts[i];
      window.add(documents[i], weight * (norms == null ? tf : tf / (tf + norms[lengths[documents[i]] & 0xff])));
    }
    place = i;
  }

  private void read(Window window, byte[] lengths, double[] norms) throws IOException {
    int document = postings.docID();
    if (document < window.first) document = postings.advance(window.first);
    for (; document < window.end; document = postings.nextDoc()) {
      if (live != null && !live.get(document)) continue;
      double tf = postings.freq();
      window.add(document, weight * (norms == null ? tf : tf / (tf + norms[lengths[document] & 0xff])));
    }
  }
}
