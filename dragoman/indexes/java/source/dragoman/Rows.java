package dragoman;

import static java.util.stream.Collectors.toSet;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field.Store;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.FieldInvertState;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.CollectionStatistics;
import org.apache.lucene.search.TermStatistics;
import org.apache.lucene.search.similarities.Similarity;

/** Writes and deletes many documents in one call. */
public final class Rows {
  /** Keeps the exact length of each document, of which averages are computed that deletions do not blur. */
  public static final class Lengths extends Similarity {
    @Override
    public long computeNorm(FieldInvertState state) {
      return state.getLength() - state.getNumOverlap();
    }

    @Override
    public SimScorer scorer(float boost, CollectionStatistics collection, TermStatistics... terms) {
      throw new UnsupportedOperationException("scores are computed by dragoman.Searcher");
    }
  }

  /** Before the language in the name of the field of words as they are written, folded. */
  static final String WORDS = "w_";

  private static final FieldType COUNTED = type(IndexOptions.DOCS_AND_FREQS);
  private static final FieldType PLACED = type(IndexOptions.DOCS_AND_FREQS_AND_POSITIONS);
  private static final FieldType PRESENT = type(IndexOptions.DOCS);

  private Rows() {}

  private static FieldType type(IndexOptions options) {
    FieldType type = new FieldType();
    type.setIndexOptions(options);
    type.setTokenized(true);
    type.setOmitNorms(options == IndexOptions.DOCS);
    type.freeze();
    return type;
  }

  /**
   * Replaces or adds documents; each list has one line for each key, with words between spaces, as {@link Places} reads
   * them. {@code attributes} are as {@link Attributes#add} takes them.
   */
  public static void write(
      IndexWriter writer,
      long[] keys,
      String languages,
      String words,
      String terms,
      String sounds,
      String attributes)
      throws IOException {
    Map<String, Reused> documents = new HashMap<>();
    Set<String> fields = writer.getFieldNames().stream().filter(name -> name.indexOf(':') == 1).collect(toSet());
    List<String> language = Searcher.lines(languages);
    List<String> word = Searcher.lines(words);
    List<String> term = Searcher.lines(terms);
    List<String> sound = Searcher.lines(sounds);
    List<String> attribute = Searcher.lines(attributes);
    for (int i = 0; i < keys.length; i++) {
      Reused reused = documents.computeIfAbsent(language.get(i), Reused::new);
      Document document = reused.filled(keys[i], word.get(i), term.get(i), sound.get(i));
      Attributes.add(document, fields, attribute.get(i));
      writer.updateDocument(key(keys[i]), document);
    }
  }

  public static void delete(IndexWriter writer, long[] keys) throws IOException {
    for (long key : keys) writer.deleteDocuments(key(key));
  }

  private static Term key(long key) {
    return new Term(Snapshot.KEY, Long.toString(key));
  }

  /** The fields of documents of one language. */
  private static final class Reused {
    private final StringField key = new StringField(Snapshot.KEY, "0", Store.NO);
    private final NumericDocValuesField number = new NumericDocValuesField(Snapshot.KEY, 0);
    private final org.apache.lucene.document.Field words;
    private final org.apache.lucene.document.Field terms;
    private final org.apache.lucene.document.Field sounds;

    Reused(String language) {
      words = new org.apache.lucene.document.Field(WORDS + language, "", COUNTED);
      terms = new org.apache.lucene.document.Field("t_" + language, "", PLACED);
      sounds = new org.apache.lucene.document.Field("x_" + language, "", PRESENT);
    }

    Document filled(long number, String words, String terms, String sounds) {
      this.key.setStringValue(Long.toString(number));
      this.number.setLongValue(number);
      this.words.setStringValue(words);
      this.terms.setStringValue(terms);
      this.sounds.setStringValue(sounds);
      Document document = new Document();
      document.add(key);
      document.add(this.number);
      document.add(this.words);
      document.add(this.terms);
      document.add(this.sounds);
      return document;
    }
  }
}
