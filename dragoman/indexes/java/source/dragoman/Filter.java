package dragoman;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.SortedSetDocValues;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.FixedBitSet;
import org.apache.lucene.util.LongBitSet;
import org.apache.lucene.util.StringHelper;

/**
 * The documents of a segment that a program leaves, whether they are deleted or not; see {@code filters.py} for the form
 * of programs. What was computed is kept, as long as there is room for it.
 */
final class Filter {
  /** Bytes of all sets that are kept. */
  private static final long MOST_KEPT = Long.getLong("dragoman.filters", Runtime.getRuntime().maxMemory() / 16);

  /** Characters of programs that are keys by themselves; of longer ones a checksum is. */
  private static final int LONGEST_KEY = 1 << 10;

  /** What a filter may take on one snapshot. */
  private static final long LONGEST_NANOS = 5_000_000_000L;

  /** The filter takes too long. */
  static final class TooSlow extends RuntimeException {
    private static final long serialVersionUID = 1;

    TooSlow() {
      super("the filter takes longer than 5 seconds");
    }
  }

  /** Bytes of a text that is indexed as one; of a longer one its pieces are looked at. */
  private static final int LONGEST_TEXT = 28_000;

  /** What the first byte of a text is, and that of a piece of a long one, and of its last one. */
  private static final byte[] TEXTS = {'s', 't', 'u'};

  private static final byte[] ENDS = {'s', 't', 'v'};

  private static final Map<Key, FixedBitSet> KEPT = new LinkedHashMap<>(16, 0.75f, true);
  private static long keptBytes = 0;

  /** A segment, and a program. */
  private static final class Key {
    private final IndexReader.CacheKey segment;
    private final String program;

    Key(IndexReader.CacheKey segment, String program) {
      this.segment = segment;
      this.program = program;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Key && ((Key) other).segment == segment && ((Key) other).program.equals(program);
    }

    @Override
    public int hashCode() {
      return Objects.hash(System.identityHashCode(segment), program);
    }
  }

  private final LeafReader segment;
  private final String[] parts;
  private final long until;
  private int place = 0;

  private Filter(LeafReader segment, String program, long until) {
    this.segment = segment;
    this.until = until;
    parts = program.split(" ");
  }

  /** The documents of each segment; null for an empty program, which leaves all. */
  static FixedBitSet[] of(Snapshot snapshot, String program) throws IOException {
    if (program.isEmpty()) return null;
    FixedBitSet[] found = new FixedBitSet[snapshot.segments.length];
    long until = System.nanoTime() + LONGEST_NANOS;
    for (int i = 0; i < found.length; i++) found[i] = new Filter(snapshot.segments[i], program, until).evaluate();
    return found;
  }

  /** The documents of the expression that begins here; they may be kept, and must not be changed. */
  private FixedBitSet evaluate() throws IOException {
    check();
    int start = place;
    skip();
    String program = String.join(" ", Arrays.asList(parts).subList(start, place));
    if (program.length() > LONGEST_KEY) program = digest(program);
    Key key = new Key(segment.getCoreCacheHelper().getKey(), program);
    synchronized (KEPT) {
      FixedBitSet kept = KEPT.get(key);
      if (kept != null) return kept;
    }
    FixedBitSet found = computed(start);
    keep(key, found);
    return found;
  }

  private static String digest(String program) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(program.getBytes(StandardCharsets.UTF_8));
      return "#" + Attributes.hexadecimal(new BytesRef(digest));
    } catch (NoSuchAlgorithmException fault) {
      throw new IllegalStateException(fault);
    }
  }

  private static void keep(Key key, FixedBitSet found) {
    synchronized (KEPT) {
      if (KEPT.put(key, found) == null) keptBytes += found.ramBytesUsed() + 2L * key.program.length();
      for (Iterator<Map.Entry<Key, FixedBitSet>> oldest = KEPT.entrySet().iterator(); keptBytes > MOST_KEPT; ) {
        Map.Entry<Key, FixedBitSet> entry = oldest.next();
        keptBytes -= entry.getValue().ramBytesUsed() + 2L * entry.getKey().program.length();
        oldest.remove();
      }
    }
  }

  /** Goes behind the expression that begins here. */
  private void skip() {
    String operator = parts[place++];
    switch (operator) {
      case "*":
        return;
      case "!":
        skip();
        return;
      case "&":
      case "|":
        for (int count = number(); count > 0; count--) skip();
        return;
      case "r":
        place++;
        int ranges = number();
        place += 2 * ranges;
        return;
      case "c":
      case "z":
        place += 2;
        return;
      case "x":
        place++;
        return;
      case "k":
        int keys = number();
        place += keys;
        return;
      case "t":
        place++;
        int terms = number();
        place += terms;
        return;
      case "p":
        place++;
        for (int slots = number(); slots > 0; slots--) {
          place++;
          int alternatives = number();
          place += alternatives;
        }
        return;
      default:
        throw new IllegalArgumentException("no operator: " + operator);
    }
  }

  private int number() {
    return Integer.parseInt(parts[place++]);
  }

  private FixedBitSet computed(int start) throws IOException {
    int end = place;
    place = start;
    FixedBitSet found = compute(parts[place++]);
    if (place != end) throw new IllegalArgumentException("a program that is none");
    return found;
  }

  private FixedBitSet compute(String operator) throws IOException {
    FixedBitSet found = new FixedBitSet(segment.maxDoc());
    switch (operator) {
      case "*":
        found.set(0, found.length());
        return found;
      case "!":
        found.or(evaluate());
        found.flip(0, found.length());
        return found;
      case "&":
      case "|":
        boolean all = operator.equals("&");
        if (all) found.set(0, found.length());
        for (int count = number(); count > 0; count--) {
          if (all) found.and(evaluate());
          else found.or(evaluate());
        }
        return found;
      case "r":
        addRanges(found);
        return found;
      case "x":
        addPresent(found);
        return found;
      case "k":
        addKeys(found);
        return found;
      case "t":
        addTerms(found);
        return found;
      case "p":
        addPhrase(found);
        return found;
      default:
        addTexts(found, operator.equals("z"));
        return found;
    }
  }

  private void addRanges(FixedBitSet found) throws IOException {
    String field = Attributes.bytes(parts[place++]).utf8ToString();
    BytesRef[] bounds = new BytesRef[2 * number()];
    for (int i = 0; i < bounds.length; i++) bounds[i] = Attributes.bytes(parts[place++]);
    for (Attributes.Column column : Attributes.columns(segment, field)) {
      long[] ordinals = new long[bounds.length];
      int count = 0;
      for (int i = 0; i < bounds.length; i += 2) {
        long low = column.ordinal(bounds[i]);
        long high = column.ordinal(bounds[i + 1]);
        if (low >= high) continue;
        ordinals[count++] = low;
        ordinals[count++] = high;
      }
      if (count == 2) {
        add(found, column, ordinals[0], ordinals[1]);
      } else if (count > 2) {
        LongBitSet chosen = new LongBitSet(column.values.getValueCount());
        for (int i = 0; i < count; i += 2) chosen.set(ordinals[i], ordinals[i + 1]);
        add(found, column, chosen);
      }
    }
  }

  /** Adds the documents with a value between two ordinals. */
  private void add(FixedBitSet found, Attributes.Column column, long low, long high) throws IOException {
    Ordinals ordinals = Ordinals.of(segment, column);
    if (ordinals != null) {
      ordinals.add(found, low, high);
      return;
    }
    SortedSetDocValues values = column.values;
    for (int document; (document = values.nextDoc()) < found.length(); ) {
      for (int left = values.docValueCount(); left > 0; left--) {
        long ordinal = values.nextOrd();
        if (ordinal < low) continue;
        if (ordinal < high) found.set(document);
        break;
      }
    }
  }

  /** Adds the documents with a value of these ordinals. */
  private void add(FixedBitSet found, Attributes.Column column, LongBitSet chosen) throws IOException {
    Ordinals ordinals = Ordinals.of(segment, column);
    if (ordinals != null) {
      ordinals.add(found, chosen);
      return;
    }
    SortedSetDocValues values = column.values;
    for (int document; (document = values.nextDoc()) < found.length(); ) {
      for (int left = values.docValueCount(); left > 0; left--) {
        if (!chosen.get(values.nextOrd())) continue;
        found.set(document);
        break;
      }
    }
  }

  /** Adds the documents with a text that contains another one, or ends with it. */
  private void addTexts(FixedBitSet found, boolean atEnd) throws IOException {
    String field = Attributes.bytes(parts[place++]).utf8ToString();
    BytesRef text = Attributes.bytes(parts[place++]);
    int[] borders = borders(text);
    for (Attributes.Column column : Attributes.columns(segment, field)) {
      LongBitSet chosen = new LongBitSet(column.values.getValueCount());
      boolean any = false;
      for (byte kind : atEnd ? ENDS : TEXTS) {
        long end = column.ordinal(new BytesRef(new byte[] {(byte) (kind + 1)}));
        int before = column.prefix.length + 1;
        for (long ordinal = column.ordinal(new BytesRef(new byte[] {kind})); ordinal < end; ordinal++) {
          if ((ordinal & 63) == 0) check();
          BytesRef value = column.values.lookupOrd(ordinal);
          BytesRef rest = new BytesRef(value.bytes, value.offset + before, value.length - before);
          if (rest.length > LONGEST_TEXT) continue; // its end is a checksum
          if (atEnd ? StringHelper.endsWith(rest, text) : contains(rest, text, borders)) {
            chosen.set(ordinal);
            any = true;
          }
        }
      }
      if (any) add(found, column, chosen);
    }
  }

  /** Knuth, Morris and Pratt's search, whose time grows with the text alone. */
  private static boolean contains(BytesRef text, BytesRef part, int[] borders) {
    int matched = 0;
    for (int i = text.offset; matched < part.length && i < text.offset + text.length; i++) {
      while (matched > 0 && part.bytes[part.offset + matched] != text.bytes[i]) matched = borders[matched - 1];
      if (part.bytes[part.offset + matched] == text.bytes[i]) matched++;
    }
    return matched == part.length;
  }

  /** For each beginning of a text, how long its longest beginning is that is its end as well. */
  private static int[] borders(BytesRef part) {
    int[] borders = new int[part.length];
    for (int i = 1, length = 0; i < part.length; i++) {
      while (length > 0 && part.bytes[part.offset + length] != part.bytes[part.offset + i]) length = borders[length - 1];
      if (part.bytes[part.offset + length] == part.bytes[part.offset + i]) length++;
      borders[i] = length;
    }
    return borders;
  }

  /** Throws {@link TooSlow} where the time of the filter is over. */
  private void check() {
    if (System.nanoTime() - until > 0) throw new TooSlow();
  }

  private void addPresent(FixedBitSet found) throws IOException {
    BytesRef path = Attributes.bytes(parts[place++]);
    Terms terms = segment.terms(Attributes.PRESENT);
    if (terms == null) return;
    TermsEnum entry = terms.iterator();
    if (!entry.seekExact(path)) return;
    PostingsEnum postings = entry.postings(null, PostingsEnum.NONE);
    for (int document; (document = postings.nextDoc()) < found.length(); ) found.set(document);
  }

  private void addKeys(FixedBitSet found) throws IOException {
    int count = number();
    Terms terms = segment.terms(Snapshot.KEY);
    TermsEnum entry = terms == null ? null : terms.iterator();
    PostingsEnum postings = null;
    for (; count > 0; count--) {
      long key = Long.parseLong(parts[place++], 16);
      if (entry == null || !entry.seekExact(new BytesRef(Long.toString(key)))) continue;
      postings = entry.postings(postings, PostingsEnum.NONE);
      for (int document; (document = postings.nextDoc()) < found.length(); ) found.set(document);
    }
  }

  private TermsEnum entries() throws IOException {
    Terms terms = segment.terms(Attributes.bytes(parts[place++]).utf8ToString());
    return terms == null ? null : terms.iterator();
  }

  private void addTerms(FixedBitSet found) throws IOException {
    TermsEnum entry = entries();
    PostingsEnum postings = null;
    for (int count = number(); count > 0; count--) {
      BytesRef term = Attributes.bytes(parts[place++]);
      if (entry == null || !entry.seekExact(term)) continue;
      postings = entry.postings(postings, PostingsEnum.NONE);
      for (int document; (document = postings.nextDoc()) < found.length(); ) found.set(document);
    }
  }

  private void addPhrase(FixedBitSet found) throws IOException {
    TermsEnum entry = entries();
    Phrase phrase = entry == null ? null : new Phrase(entry, found.length());
    for (int slots = number(); slots > 0; slots--) {
      int gap = number();
      List<BytesRef> alternatives = new ArrayList<>();
      for (int count = number(); count > 0; count--) alternatives.add(Attributes.bytes(parts[place++]));
      if (phrase != null) phrase.add(gap, alternatives);
    }
    if (phrase != null) phrase.addDocuments(found);
  }
}
