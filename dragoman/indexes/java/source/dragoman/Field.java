package dragoman;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.SmallFloat;

/** The statistics and terms of a field; deleted documents do not count. */
final class Field {
  /** How many statistics stand before the frequencies of terms. */
  static final int STATISTICS = 2;

  final Snapshot snapshot;

  /** N: the number of documents with a term. */
  final int documents;

  /** Terms of all documents together. */
  final long length;

  /** The length of each document of each segment, rounded down into one byte. */
  final byte[][] lengths;

  private final String name;
  private final Map<String, Term> known = new ConcurrentHashMap<>();

  Field(Snapshot snapshot, String name) throws IOException {
    this.snapshot = snapshot;
    this.name = name;
    lengths = new byte[snapshot.segments.length][];
    int count = 0;
    long sum = 0;
    for (int segment = 0; segment < lengths.length; segment++) {
      LeafReader reader = snapshot.segments[segment];
      NumericDocValues norms = reader.getNormValues(name);
      if (norms == null) continue;
      Bits live = reader.getLiveDocs();
      byte[] rounded = lengths[segment] = new byte[reader.maxDoc()];
      for (int document; (document = norms.nextDoc()) < rounded.length; ) {
        int length = Math.toIntExact(norms.longValue());
        rounded[document] = SmallFloat.intToByte4(length);
        if (length > 0 && (live == null || live.get(document))) {
          count++;
          sum += length;
        }
      }
    }
    documents = count;
    length = sum;
  }

  /** What BM25 asks of an index, as whole numbers that add up over indexes: N, length, frequency of each term. */
  long[] statistics(Term[] terms) {
    long[] statistics = new long[STATISTICS + terms.length];
    statistics[0] = documents;
    statistics[1] = length;
    for (int i = 0; i < terms.length; i++) statistics[STATISTICS + i] = terms[i].frequency;
    return statistics;
  }

  /** The terms with these texts; one that no document has is a term as well. */
  Term[] terms(List<String> texts) throws IOException {
    Term[] found = new Term[texts.size()];
    TermsEnum[] entries = null;
    TermsEnum[] words = null;
    for (int i = 0; i < found.length; i++) {
      String text = texts.get(i);
      found[i] = known.get(text);
      if (found[i] == null) {
        if (Term.isExact(text)) {
          if (words == null) words = entries(true);
          found[i] = new Term(snapshot.segments, words, text);
        } else {
          if (entries == null) entries = entries(false);
          found[i] = new Term(snapshot.segments, entries, text);
        }
        if (known.putIfAbsent(text, found[i]) == null) snapshot.keep(found[i].kept());
      }
    }
    return found;
  }

  /** The dictionary of each segment, null where no document has the field; of the field of {@code words}, or of this. */
  TermsEnum[] entries(boolean words) throws IOException {
    String read = words ? Rows.WORDS + name.substring(Rows.WORDS.length()) : name;
    TermsEnum[] entries = new TermsEnum[snapshot.segments.length];
    for (int segment = 0; segment < entries.length; segment++) {
      Terms terms = snapshot.segments[segment].terms(read);
      entries[segment] = terms == null ? null : terms.iterator();
    }
    return entries;
  }

  /** Forgets all terms and returns how many postings that frees. */
  long forget() {
    long freed = 0;
    for (Map.Entry<String, Term> entry : known.entrySet()) {
      if (known.remove(entry.getKey(), entry.getValue())) freed += entry.getValue().kept();
    }
    return freed;
  }
}
