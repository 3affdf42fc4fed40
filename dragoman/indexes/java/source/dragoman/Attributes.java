package dragoman;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field.Store;
import org.apache.lucene.document.SortedSetDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.SortedDocValues;
import org.apache.lucene.index.SortedSetDocValues;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.BytesRefBuilder;

/**
 * What a document has beside its words: fields with values, whose bytes have the order of the values, and the paths that
 * lead to something. Each field has doc values of its own, but for those beyond the first ones, which share {@link
 * #SHARED}: an index with very many fields would fill the memory.
 */
final class Attributes {
  /** The field of the paths that lead to something. */
  static final String PRESENT = "x";

  private static final String SHARED = "*";
  private static final int MOST_FIELDS = 500;
  private static final byte DATE = 'd';

  /** Before texts of dates, and behind them. */
  private static final BytesRef DATES = new BytesRef("t");

  private static final BytesRef END = new BytesRef("u");

  /** Values of a field in one segment: those between two of their ordinals, which are of this field alone. */
  static final class Column {
    /** The field that the index has the values in. */
    final String field;

    final SortedSetDocValues values;

    /** The same where each document has one at most; else null. */
    final SortedDocValues single;

    /** What all values of this field begin with. */
    final byte[] prefix;

    private long start = -1;
    private long texts = -1;
    private long end = -1;

    private Column(String field, SortedSetDocValues values, byte[] prefix) {
      this.field = field;
      this.values = values;
      this.prefix = prefix;
      single = DocValues.unwrapSingleton(values);
    }

    /** The first ordinal of a value that is not less. */
    long ordinal(BytesRef value) throws IOException {
      BytesRefBuilder whole = new BytesRefBuilder();
      whole.append(prefix, 0, prefix.length);
      whole.append(value);
      long ordinal = values.lookupTerm(whole.get());
      return ordinal < 0 ? -ordinal - 1 : ordinal;
    }

    /** The first ordinal behind those of values that are shown and ordered: texts of dates are among them. */
    long end() throws IOException {
      if (end < 0) end = ordinal(END);
      return end;
    }

    /** Whether a value stands for itself: a date is there as a text as well. */
    boolean isWhole(long ordinal) throws IOException {
      BytesRef value = values.lookupOrd(ordinal);
      return value.bytes[value.offset + prefix.length] != DATE;
    }

    /** A copy of a value, without what tells the field. */
    BytesRef value(long ordinal) throws IOException {
      BytesRef value = values.lookupOrd(ordinal);
      int start = value.offset + prefix.length;
      return new BytesRef(Arrays.copyOfRange(value.bytes, start, value.offset + value.length));
    }

    /** The ordinal of a document's least or greatest value, of a date not that of its text; -1 if it has none. */
    long extreme(int document, boolean greatest) throws IOException {
      if (start < 0) {
        start = ordinal(new BytesRef());
        texts = ordinal(DATES);
      }
      if (!values.advanceExact(document)) return -1;
      long found = -1;
      for (int left = values.docValueCount(); left > 0; left--) {
        long ordinal = values.nextOrd();
        if (ordinal < start || ordinal >= texts) continue;
        if (!greatest) return ordinal;
        found = ordinal;
      }
      return found;
    }

    /** The order of a value and one of this or another column. */
    int compare(long ordinal, Column other, long otherOrdinal) {
      if (other == this) return Long.compare(ordinal, otherOrdinal);
      try {
        return value(ordinal).compareTo(other.value(otherOrdinal));
      } catch (IOException fault) {
        throw new UncheckedIOException(fault);
      }
    }

    /** Adds the values of a document that are counted. */
    void addWhole(int document, Set<BytesRef> found) throws IOException {
      long low = ordinal(new BytesRef());
      if (!values.advanceExact(document)) return;
      for (int left = values.docValueCount(); left > 0; left--) {
        long ordinal = values.nextOrd();
        if (low <= ordinal && ordinal < end() && isWhole(ordinal)) found.add(value(ordinal));
      }
    }

    /** The values of a document that stand for themselves, in hexadecimal between commas. */
    String valuesOf(int document) throws IOException {
      StringBuilder found = new StringBuilder();
      long low = ordinal(new BytesRef());
      if (!values.advanceExact(document)) return "";
      for (int left = values.docValueCount(); left > 0; left--) {
        long ordinal = values.nextOrd();
        if (ordinal < low || ordinal >= end()) continue;
        if (found.length() > 0) found.append(',');
        found.append(hexadecimal(value(ordinal)));
      }
      return found.toString();
    }
  }

  private Attributes() {}

  /** Adds fields and values, by turns, in hexadecimal between spaces. */
  static void add(Document document, Set<String> fields, String line) {
    if (line.isEmpty()) return;
    String[] parts = line.split(" ");
    for (int i = 0; i < parts.length; i += 2) {
      String field = bytes(parts[i]).utf8ToString();
      BytesRef value = bytes(parts[i + 1]);
      if (field.equals(PRESENT)) {
        document.add(new StringField(PRESENT, value.utf8ToString(), Store.NO));
      } else if (fields.contains(field) || fields.size() < MOST_FIELDS) {
        fields.add(field);
        document.add(new SortedSetDocValuesField(field, value));
      } else {
        BytesRefBuilder whole = new BytesRefBuilder();
        byte[] prefix = prefix(field);
        whole.append(prefix, 0, prefix.length);
        whole.append(value);
        document.add(new SortedSetDocValuesField(SHARED, whole.get()));
      }
    }
  }

  /** The values of a field in a segment, one column or two. */
  static Column[] columns(LeafReader segment, String field) throws IOException {
    SortedSetDocValues own = segment.getSortedSetDocValues(field);
    SortedSetDocValues shared = segment.getSortedSetDocValues(SHARED);
    Column[] columns = new Column[(own == null ? 0 : 1) + (shared == null ? 0 : 1)];
    if (own != null) columns[0] = new Column(field, own, new byte[0]);
    if (shared != null) columns[columns.length - 1] = new Column(SHARED, shared, prefix(field));
    return columns;
  }

  /** The columns of several fields, whose names are in hexadecimal between spaces. */
  static Column[] columnsOf(LeafReader segment, String names) throws IOException {
    List<Column> columns = new ArrayList<>();
    for (String name : names.split(" ")) columns.addAll(Arrays.asList(columns(segment, bytes(name).utf8ToString())));
    return columns.toArray(new Column[0]);
  }

  private static byte[] prefix(String field) {
    BytesRef name = new BytesRef(field + "\0");
    byte[] prefix = new byte[name.length];
    System.arraycopy(name.bytes, name.offset, prefix, 0, name.length);
    return prefix;
  }

  static String hexadecimal(BytesRef bytes) {
    StringBuilder written = new StringBuilder(2 * bytes.length);
    for (int i = bytes.offset; i < bytes.offset + bytes.length; i++) {
      written.append(Character.forDigit(bytes.bytes[i] >> 4 & 15, 16)).append(Character.forDigit(bytes.bytes[i] & 15, 16));
    }
    return written.toString();
  }

  /** The bytes of a hexadecimal number; those of "-" are none. */
  static BytesRef bytes(String hexadecimal) {
    if (hexadecimal.equals("-")) return new BytesRef();
    byte[] bytes = new byte[hexadecimal.length() / 2];
    for (int i = 0; i < bytes.length; i++) {
      int high = Character.digit(hexadecimal.charAt(2 * i), 16);
      bytes[i] = (byte) (high << 4 | Character.digit(hexadecimal.charAt(2 * i + 1), 16));
    }
    return new BytesRef(bytes);
  }
}
