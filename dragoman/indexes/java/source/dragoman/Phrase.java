package dragoman;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.FixedBitSet;

/**
 * The documents of a segment in which words follow one another, each as one of several; one may be several words there.
 * Between two of them some others may stand.
 */
final class Phrase {
  private static final int[] NOWHERE = {};

  private final TermsEnum entry;
  private final int documents;
  private final Map<BytesRef, Word> words = new HashMap<>();
  private final List<Slot> slots = new ArrayList<>();

  /** {@code documents} is their number in the segment. */
  Phrase(TermsEnum entry, int documents) {
    this.entry = entry;
    this.documents = documents;
  }

  /** Adds the next word, with at most {@code gap} others before it; {@code alternatives} are in UTF-8, with spaces. */
  void add(int gap, List<BytesRef> alternatives) throws IOException {
    List<Word[]> present = new ArrayList<>();
    for (BytesRef alternative : alternatives) {
      Word[] sequence = sequence(alternative.utf8ToString().split(" "));
      if (sequence != null) present.add(sequence);
    }
    slots.add(new Slot(gap, present));
  }

  /** Null where the segment lacks one of the words. */
  private Word[] sequence(String[] texts) throws IOException {
    Word[] sequence = new Word[texts.length];
    for (int i = 0; i < texts.length; i++) {
      BytesRef text = new BytesRef(texts[i]);
      Word word = words.get(text);
      if (word == null) {
        if (!entry.seekExact(text)) return null;
        words.put(text, word = new Word(text, entry.docFreq(), entry.postings(null, PostingsEnum.POSITIONS)));
      }
      sequence[i] = word;
    }
    return sequence;
  }

  void addDocuments(FixedBitSet found) throws IOException {
    FixedBitSet candidates = null;
    PostingsEnum postings = null;
    for (Slot slot : slots) {
      FixedBitSet held = new FixedBitSet(documents);
      for (Word[] alternative : slot.alternatives) {
        Word rarest = alternative[0];
        for (Word word : alternative) if (word.frequency < rarest.frequency) rarest = word;
        entry.seekExact(rarest.text);
        postings = entry.postings(postings, PostingsEnum.NONE);
        for (int document; (document = postings.nextDoc()) < documents; ) held.set(document);
      }
      if (candidates == null) candidates = held;
      else candidates.and(held);
    }
    if (candidates == null) return;
    for (int document = -1; ++document < documents; ) {
      document = candidates.nextSetBit(document);
      if (document >= documents) return;
      if (isIn(document)) found.set(document);
    }
  }

  private boolean isIn(int document) throws IOException {
    int[] ends = null;
    for (Slot slot : slots) {
      ends = slot.ends(document, ends);
      if (ends.length == 0) return false;
    }
    return true;
  }

  /** One word of the phrase. */
  private static final class Slot {
    private final int gap;
    private final List<Word[]> alternatives;

    Slot(int gap, List<Word[]> alternatives) {
      this.gap = gap;
      this.alternatives = alternatives;
    }

    /** The places behind it, ascending, where the part before it ends at one of {@code before}; null: anywhere. */
    int[] ends(int document, int[] before) throws IOException {
      int[] ends = NOWHERE;
      int count = 0;
      for (Word[] alternative : alternatives) {
        for (int start : alternative[0].positions(document)) {
          if ((before != null && !reaches(before, start)) || !follow(alternative, document, start)) continue;
          if (count == ends.length) ends = Arrays.copyOf(ends, Math.max(8, 2 * count));
          ends[count++] = start + alternative.length;
        }
      }
      ends = Arrays.copyOf(ends, count);
      Arrays.sort(ends);
      return ends;
    }

    private boolean reaches(int[] before, int start) {
      int place = Arrays.binarySearch(before, start);
      if (place >= 0) return true;
      return place < -1 && start - before[-place - 2] <= gap;
    }

    private static boolean follow(Word[] alternative, int document, int start) throws IOException {
      for (int i = 1; i < alternative.length; i++) {
        if (Arrays.binarySearch(alternative[i].positions(document), start + i) < 0) return false;
      }
      return true;
    }
  }

  /** A word with its positions in one document after the other. */
  private static final class Word {
    final BytesRef text;
    final int frequency;
    private final PostingsEnum postings;
    private int read = -1;
    private int[] positions = NOWHERE;

    Word(BytesRef text, int frequency, PostingsEnum postings) {
      this.text = text;
      this.frequency = frequency;
      this.postings = postings;
    }

    /** Ascending; those of a document before the last one cannot be asked for. */
    int[] positions(int document) throws IOException {
      if (read == document) return positions;
      read = document;
      int place = postings.docID();
      if (place < document) place = postings.advance(document);
      positions = place == document ? new int[postings.freq()] : NOWHERE;
      for (int i = 0; i < positions.length; i++) {
        positions[i] = postings.nextPosition();
        if (positions[i] < 0) return positions = NOWHERE;
      }
      return positions;
    }
  }
}
