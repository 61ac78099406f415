package data_skip;

import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.IsoFields;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** The conditions, over the range of a file, under which a function is monotone there: H in Big Metadata. monotone.py says which need which. */
public final class Conditions {
  private static final long SECOND = TimeZones.SECOND;
  private static final long DAY = 86400L * SECOND;
  private static final long MODERN = LocalDate.of(1901, 1, 1).toEpochDay() * DAY;
  private static final long FORETOLD = LocalDate.of(2036, 1, 1).toEpochDay() * DAY;

  private Conditions() {}

  /** The first and last value of the years 1 to 9999, for which Spark documents its calendar: days or microseconds. */
  public static long first(DataType type) {
    return LocalDate.of(1, 1, 1).toEpochDay() * (type instanceof DateType ? 1 : DAY);
  }

  public static long last(DataType type) {
    long days = LocalDate.of(9999, 12, 31).toEpochDay();
    return type instanceof DateType ? days : (days + 1) * DAY - 1;
  }

  public static boolean isTime(DataType type) {
    return type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType;
  }

  public static boolean inCalendar(Number moment, DataType type) {
    return moment.longValue() >= first(type) && moment.longValue() <= last(type);
  }

  /** @param rule whose conditions are looked at.
   * @param ends low and high (null where there is none) of each operand, and of the result; types likewise. */
  public static boolean hold(Claim rule, Object[][] ends, DataType[] types) {
    ZoneId zone = rule.zone != null ? DateTimeUtils.getZoneId(rule.zone) : ZoneOffset.UTC;
    long earliest = Long.MAX_VALUE;
    long latest = Long.MIN_VALUE;
    for (int i = 0; i < ends.length; i++) {
      if (ends[i][0] == null) continue;
      boolean operand = i < ends.length - 1;
      if (rule.seconds && types[i] instanceof LongType) {
        for (int end = 0; end < 2; end++) {
          long seconds = ((Number) ends[i][end]).longValue();
          if (Math.abs(seconds / SECOND) > SECOND) return false;
          ends[i][end] = new Long(seconds * SECOND);
        }
        types[i] = DataTypes.TimestampType;
      }
      if (rule.finite && !(isFinite(ends[i][0]) && isFinite(ends[i][1]))) return false;
      if (rule.nonzero && i == 1 && sign(ends[i][0]) * sign(ends[i][1]) <= 0) return false;
      if (rule.shared != 0 && i == 0 && !share(rule.shared, ends[i][0], ends[i][1])) return false;
      if (rule.truncated != 0 && i == 0 && low(ends[i]) / rule.truncated != high(ends[i]) / rule.truncated) return false;
      if (rule.floored != 0 && i == 0 && Math.floorDiv(low(ends[i]), rule.floored) != Math.floorDiv(high(ends[i]), rule.floored)) return false;
      if (!isTime(types[i])) continue;
      long low = low(ends[i]);
      long high = high(ends[i]);
      long margin = rule.text && types[i] instanceof TimestampType ? DAY : 0; // of local years, which have no four digits beyond
      if (low < first(types[i]) + margin || high > last(types[i]) - margin) return false;
      if (rule.text && types[i] instanceof TimestampType && (low < MODERN || high >= FORETOLD) && legacyFormats()) return false;
      if (types[i] instanceof TimestampType) {
        earliest = Math.min(earliest, operand ? low : low - DAY); // a local time that the clocks left out became one up to a day later
        latest = Math.max(latest, high);
      }
      if (operand && rule.period != null && period(rule.period, low, types[i], zone) != period(rule.period, high, types[i], zone)) return false;
    }
    boolean local = rule.offset || rule.period != null;
    return !local || earliest > latest || TimeZones.oneOffset(zone, earliest, latest);
  }

  /**
   * Whether java.text formats times: by the Julian calendar before 1582-10-15, with ten days at once before that; and by offsets of
   * java.util.TimeZone, which are others than java.time's before 1900, and in some zones from the end of 2036 on.
   */
  private static boolean legacyFormats() {
    return SQLConf.get().getConfString("spark.sql.legacy.timeParserPolicy", "EXCEPTION").equalsIgnoreCase("LEGACY");
  }

  /** Whether two strings begin with the same `count` characters; then so do all between them. */
  private static boolean share(int count, Object low, Object high) {
    UTF8String start = ((UTF8String) low).substring(0, count);
    return start.numChars() == count && start.equals(((UTF8String) high).substring(0, count));
  }

  private static long low(Object[] ends) {
    return ((Number) ends[0]).longValue();
  }

  private static long high(Object[] ends) {
    return ((Number) ends[1]).longValue();
  }

  private static boolean isFinite(Object value) {
    return !(value instanceof Double || value instanceof Float) || !Double.isInfinite(((Number) value).doubleValue());
  }

  private static int sign(Object value) {
    if (value instanceof Decimal) return ((Decimal) value).toJavaBigDecimal().signum();
    return (int) Math.signum(((Number) value).doubleValue());
  }

  /** The number of the period (of this name) that a local date or time lies in. */
  private static long period(String name, long local, DataType type, ZoneId zone) {
    if (type instanceof TimestampType) local += TimeZones.offset(zone, local);
    if (name.equals("minute")) return Math.floorDiv(local, 60 * SECOND);
    if (name.equals("hour")) return Math.floorDiv(local, 3600 * SECOND);
    long day = type instanceof DateType ? local : Math.floorDiv(local, DAY);
    LocalDate date = LocalDate.ofEpochDay(day);
    if (name.equals("day")) return day;
    if (name.equals("week from sunday")) return Math.floorDiv(day + 4, 7L); // 1970-01-01 was a Thursday
    if (name.equals("week from monday")) return Math.floorDiv(day + 3, 7L);
    if (name.equals("month")) return 12L * date.getYear() + date.getMonthValue();
    if (name.equals("year")) return date.getYear();
    if (name.equals("year of weeks")) return date.get(IsoFields.WEEK_BASED_YEAR);
    throw new IllegalArgumentException("no period " + name);
  }
}
