package dragoman;

import java.io.IOException;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.core.WhitespaceTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.PositionIncrementAttribute;

/**
 * Terms between spaces, each at the next place; one that begins with {@link #SAME} is at the place of the one before, and
 * one that begins with {@link #APART} leaves a place free: something stands between it and the one before.
 */
public final class Places extends Analyzer {
  static final char SAME = '\u0002';
  static final char APART = '\u0004';
  private static final int LONGEST = 1 << 20;

  @Override
  protected TokenStreamComponents createComponents(String field) {
    Tokenizer terms = new WhitespaceTokenizer(LONGEST);
    return new TokenStreamComponents(terms, new Further(terms));
  }

  private static final class Further extends TokenFilter {
    private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
    private final PositionIncrementAttribute increment = addAttribute(PositionIncrementAttribute.class);

    Further(TokenStream terms) {
      super(terms);
    }

    @Override
    public boolean incrementToken() throws IOException {
      if (!input.incrementToken()) return false;
      char first = term.length() > 0 ? term.charAt(0) : 0;
      if (first == SAME || first == APART) {
        int length = term.length() - 1;
        System.arraycopy(term.buffer(), 1, term.buffer(), 0, length);
        term.setLength(length);
        increment.setPositionIncrement(first == SAME ? 0 : 2);
      }
      return true;
    }
  }
}
