package data_skip;

import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.TimestampType;

/** A claim about a function: what `Rule` of ask_spark.py says, field by field. A field that only one of the two has is an error. */
public final class Claim {
  public List operands;
  public boolean checked;
  public boolean inexact;
  public List cuts; // null where there are none
  public String zone;

  public boolean finite;
  public boolean nonzero;
  public boolean offset;
  public String period; // null where none is asked for
  public boolean seconds;
  public boolean text;
  public int shared;
  public long truncated;
  public long floored;
  public boolean calendar;

  public boolean days;
  public int slack;

  /** Widens the range of results between corners, by as much as the function may turn there. `type` is that of its result. */
  public void widen(ValueRange range, DataType type) {
    if (range.low == null) return;
    if (inexact) { // by less than one unit in the last place, of sinh and its like less than 2.5, at either of two points
      for (int i = 0; i < 8; i++) {
        range.low = new Double(Math.nextDown(((Double) range.low).doubleValue()));
        range.high = new Double(Math.nextUp(((Double) range.high).doubleValue()));
      }
    }
    if (slack != 0) {
      range.low = moved(range.low, -slack);
      range.high = moved(range.high, slack);
    }
    if (days) {
      ZoneId local = type instanceof TimestampType ? DateTimeUtils.getZoneId(zone) : ZoneOffset.UTC;
      int first = DateTimeUtils.microsToDays(((Long) range.low).longValue(), local);
      int last = DateTimeUtils.microsToDays(((Long) range.high).longValue(), local);
      // A time that the clocks leave out at midnight is one of the next day, unlike other times of the same end of a month.
      if (!TimeZones.oneOffset(local, DateTimeUtils.daysToMicros(first - 1, local), DateTimeUtils.daysToMicros(last + 2, local))) {
        first--;
        last++;
      }
      range.low = new Long(DateTimeUtils.daysToMicros(first, local));
      range.high = new Long(DateTimeUtils.daysToMicros(last + 1, local) - 1);
    }
  }

  private static Object moved(Object number, int by) {
    if (number instanceof Long) return new Long(Math.addExact(((Long) number).longValue(), by));
    return new Double(((Double) number).doubleValue() + by);
  }
}
