package dragoman;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** Compares documents by the codes of their subwords; see the Python class {@code StateCodec}. */
public final class Codes {
  private static final int VALUES = 256;
  private static final int WIDE = 8;

  private Codes() {}

  /**
   * For each document, of its rows of codes the largest sum of what tables have for the codes of a row, in each column.
   *
   * @param codes {@code parts} codes a row, a document's rows one after the other, from the beginning on
   * @param numbers for each part and each value of a code {@code columns} floats, a multiple of four
   * @param lengths how many rows each document has, at least one
   * @return {@code columns} numbers a document; a sum is made part by part, and so has the same bits wherever it is made
   */
  public static float[] maxima(ByteBuffer codes, ByteBuffer numbers, int[] lengths, int parts, int columns) {
    FloatBuffer tables = numbers.order(ByteOrder.nativeOrder()).asFloatBuffer();
    float[] largest = new float[lengths.length * columns];
    int row = 0;
    for (int document = 0; document < lengths.length; document++) {
      int end = row + lengths[document];
      int column = 0;
      for (; column + WIDE <= columns; column += WIDE) {
        eight(codes, tables, row, end, parts, columns, column, largest, document * columns + column);
      }
      if (column < columns) {
        four(codes, tables, row, end, parts, columns, column, largest, document * columns + column);
      }
      row = end;
    }
    return largest;
  }

  /** Eight columns, whose sums stay in registers; a loop over columns would keep them in memory. */
  private static void eight(
      ByteBuffer codes, FloatBuffer tables, int first, int end, int parts, int columns, int column, float[] to, int at) {
    float m0 = Float.NEGATIVE_INFINITY;
    float m1 = m0, m2 = m0, m3 = m0, m4 = m0, m5 = m0, m6 = m0, m7 = m0;
    for (int row = first; row < end; row++) {
      float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
      for (int part = 0; part < parts; part++) {
        int place = (part * VALUES + (codes.get(row * parts + part) & 0xff)) * columns + column;
        s0 += tables.get(place);
        s1 += tables.get(place + 1);
        s2 += tables.get(place + 2);
        s3 += tables.get(place + 3);
        s4 += tables.get(place + 4);
        s5 += tables.get(place + 5);
        s6 += tables.get(place + 6);
        s7 += tables.get(place + 7);
      }
      m0 = Math.max(m0, s0);
      m1 = Math.max(m1, s1);
      m2 = Math.max(m2, s2);
      m3 = Math.max(m3, s3);
      m4 = Math.max(m4, s4);
      m5 = Math.max(m5, s5);
      m6 = Math.max(m6, s6);
      m7 = Math.max(m7, s7);
    }
    to[at] = m0;
    to[at + 1] = m1;
    to[at + 2] = m2;
    to[at + 3] = m3;
    to[at + 4] = m4;
    to[at + 5] = m5;
    to[at + 6] = m6;
    to[at + 7] = m7;
  }

  /** Four columns, as {@link #eight}: most queries have few subwords, and would pay for columns that they lack. */
  private static void four(
      ByteBuffer codes, FloatBuffer tables, int first, int end, int parts, int columns, int column, float[] to, int at) {
    float m0 = Float.NEGATIVE_INFINITY;
    float m1 = m0, m2 = m0, m3 = m0;
    for (int row = first; row < end; row++) {
      float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (int part = 0; part < parts; part++) {
        int place = (part * VALUES + (codes.get(row * parts + part) & 0xff)) * columns + column;
        s0 += tables.get(place);
        s1 += tables.get(place + 1);
        s2 += tables.get(place + 2);
        s3 += tables.get(place + 3);
      }
      m0 = Math.max(m0, s0);
      m1 = Math.max(m1, s1);
      m2 = Math.max(m2, s2);
      m3 = Math.max(m3, s3);
    }
    to[at] = m0;
    to[at + 1] = m1;
    to[at + 2] = m2;
    to[at + 3] = m3;
  }
}
