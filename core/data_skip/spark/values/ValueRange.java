package data_skip;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.unsafe.types.UTF8String;

/** The values that an expression may have in one file: from low to high (none where low is null), NaN, NULL. A null ValueRange: any value. */
public final class ValueRange {
  public Object low;
  public Object high;
  public boolean hasNaN;
  public boolean hasNull;

  /** Of a boolean expression. */
  public static ValueRange of(boolean canBeFalse, boolean canBeTrue, boolean canBeNull) {
    ValueRange range = new ValueRange();
    if (canBeFalse || canBeTrue) {
      range.low = Boolean.valueOf(!canBeFalse);
      range.high = Boolean.valueOf(canBeTrue);
    }
    range.hasNull = canBeNull;
    return range;
  }

  /** The range of a target in one file, from its three columns: smallest, largest, flags; see Ranges.mayBe. */
  public static ValueRange input(InternalRow row, int target, DataType type) {
    int flags = row.getByte(3 * target + 2);
    if ((flags & 1) == 0) return null;
    ValueRange range = new ValueRange();
    range.hasNull = (flags & 4) != 0;
    range.hasNaN = (flags & 8) != 0;
    if ((flags & 2) == 0) return range;
    range.low = new BoundReference(3 * target, type, true).eval(row);
    range.high = new BoundReference(3 * target + 1, type, true).eval(row);
    return range.low == null || range.high == null ? null : range;
  }

  public void add(Object value, scala.math.Ordering ordering) {
    if (value == null) {
      hasNull = true;
    } else if (isNaN(value)) {
      hasNaN = true;
    } else {
      if (low == null || ordering.compare(value, low) < 0) low = value;
      if (high == null || ordering.compare(value, high) > 0) high = value;
    }
  }

  public void addAll(ValueRange other, scala.math.Ordering ordering) {
    if (other.low != null) add(other.low, ordering);
    if (other.high != null) add(other.high, ordering);
    hasNaN = hasNaN || other.hasNaN;
    hasNull = hasNull || other.hasNull;
  }

  /** Whether a boolean expression may have this value. */
  public boolean has(Boolean value) {
    return value.equals(low) || value.equals(high);
  }

  /** Whether there is no value but NULL. */
  public boolean isEmpty() {
    return low == null && !hasNaN;
  }

  /** Whether there is one value, and perhaps NULL. */
  public boolean isOne(scala.math.Ordering ordering) {
    return low != null && !hasNaN && ordering.compare(low, high) == 0;
  }

  /** Its ends, NaN and NULL: where a function that is monotone in between takes its extremes. */
  public List corners(DataType type) {
    List options = new ArrayList();
    if (low != null) options.add(low);
    if (low != null && !low.equals(high)) options.add(high);
    if (hasNaN) options.add(type instanceof FloatType ? (Object) new Float(Float.NaN) : new Double(Double.NaN));
    if (hasNull) options.add(null);
    return options;
  }

  /** Of a = b, or a <=> b. */
  public static ValueRange equal(ValueRange a, ValueRange b, scala.math.Ordering ordering, boolean nullSafe) {
    if (a == null || b == null || ordering == null) return null;
    boolean meet = a.low != null && b.low != null && ordering.compare(a.low, b.high) <= 0 && ordering.compare(b.low, a.high) <= 0;
    boolean empty = a.isEmpty() || b.isEmpty();
    boolean canDiffer = !empty && !(a.isOne(ordering) && b.isOne(ordering) && meet);
    boolean bothNull = a.hasNull && b.hasNull;
    boolean oneNull = a.hasNull || b.hasNull;
    boolean canEqual = meet || (a.hasNaN && b.hasNaN);
    return nullSafe ? of(canDiffer || oneNull, canEqual || bothNull, false) : of(canDiffer, canEqual, oneNull);
  }

  /** Of startswith(a, prefix): the first bytes of strings in order are in order. */
  public static ValueRange startsWith(ValueRange a, ValueRange prefix) {
    if (a == null || prefix == null || prefix.low == null || !prefix.low.equals(prefix.high)) return null;
    if (!(a.low instanceof UTF8String)) return a.low == null ? of(false, false, true) : null;
    byte[] wanted = ((UTF8String) prefix.low).getBytes();
    int low = Arrays.compareUnsigned(start((UTF8String) a.low, wanted.length), wanted);
    int high = Arrays.compareUnsigned(start((UTF8String) a.high, wanted.length), wanted);
    return of(low != 0 || high != 0, low <= 0 && high >= 0, a.hasNull || prefix.hasNull);
  }

  private static byte[] start(UTF8String text, int length) {
    byte[] bytes = text.getBytes();
    return bytes.length <= length ? bytes : Arrays.copyOf(bytes, length);
  }

  public static boolean isNaN(Object value) {
    return (value instanceof Double && ((Double) value).isNaN()) || (value instanceof Float && ((Float) value).isNaN());
  }
}
