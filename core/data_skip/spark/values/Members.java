package data_skip;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The constants of an IN list, in order, and what it says of a range of operands. */
public final class Members {
  private final Object[] values;
  private final boolean hasNull;
  private final scala.math.Ordering ordering;

  public Members(scala.collection.Iterator constants, scala.math.Ordering ordering) {
    List found = new ArrayList();
    boolean anyNull = false;
    while (constants.hasNext()) {
      Object value = constants.next();
      if (value == null) anyNull = true; else found.add(value);
    }
    this.values = found.toArray();
    this.hasNull = anyNull;
    this.ordering = ordering;
    Arrays.sort(values, ordering);
  }

  /** The values of `operand IN (...)`, for an operand in this range. */
  public ValueRange among(ValueRange operand) {
    int first = operand.low == null ? values.length : Arrays.binarySearch(values, operand.low, ordering);
    if (first < 0) first = -first - 1;
    boolean inside = first < values.length && ordering.compare(values[first], operand.high) <= 0;
    boolean nan = operand.hasNaN && values.length > 0 && ValueRange.isNaN(values[values.length - 1]);
    boolean always = operand.isOne(ordering) && inside;
    return ValueRange.of(!operand.isEmpty() && !always, inside || nan, operand.hasNull || hasNull);
  }
}
