package data_skip;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneOffsetTransitionRule;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/** What monotone functions of local time depend on. Moments are microseconds since 1970. */
public final class TimeZones {
  public static final long SECOND = 1000000L;
  private static final int LAST_YEAR = 2200; // to which recurring changes of clocks are checked: they repeat

  private TimeZones() {}

  /** Whether a time zone has one offset from UTC, always. */
  public static boolean fixedOffset(String zone) {
    return DateTimeUtils.getZoneId(zone).getRules().isFixedOffset();
  }

  /** Whether the local date never goes back in a time zone. It does in America/St_Johns, where clocks were turned back at 00:01. */
  public static boolean datesAscend(String zone) {
    ZoneRules rules = DateTimeUtils.getZoneId(zone).getRules();
    List transitions = new ArrayList(rules.getTransitions());
    for (int i = 0; i < rules.getTransitionRules().size(); i++) {
      ZoneOffsetTransitionRule rule = (ZoneOffsetTransitionRule) rules.getTransitionRules().get(i);
      for (int year = 1970; year < LAST_YEAR; year++) transitions.add(rule.createTransition(year));
    }
    for (int i = 0; i < transitions.size(); i++) {
      ZoneOffsetTransition transition = (ZoneOffsetTransition) transitions.get(i);
      LocalDate last = transition.getDateTimeBefore().minusNanos(1).toLocalDate();
      if (transition.getDateTimeAfter().toLocalDate().isBefore(last)) return false;
    }
    return true;
  }

  /** Whether a time zone keeps one offset from the first to the last of some moments. */
  public static boolean oneOffset(ZoneId zone, long first, long last) {
    if (zone.getRules().isFixedOffset()) return true;
    ZoneOffsetTransition next = zone.getRules().nextTransition(instant(first));
    return next == null || next.getInstant().isAfter(instant(last));
  }

  /** Microseconds by which local time is ahead of UTC at a moment. */
  public static long offset(ZoneId zone, long moment) {
    return zone.getRules().getOffset(instant(moment)).getTotalSeconds() * SECOND;
  }

  private static Instant instant(long moment) {
    return Instant.ofEpochSecond(Math.floorDiv(moment, SECOND), Math.floorMod(moment, SECOND) * 1000L);
  }
}
