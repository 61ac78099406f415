package data_skip;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.internal.SQLConf;

/** The settings of data-skip, read as Spark reads its own: in any letters, sizes and times with their units. */
public final class UserSettings {
  private static final Pattern NUMBER = Pattern.compile("[0-9.]+");
  private static final String ENABLED = "spark.data_skip.enabled";
  private static final List ON = Arrays.asList(new String[] {"true", "on", "yes", "1"});
  private static final List OFF = Arrays.asList(new String[] {"false", "off", "no", "0"});
  private static final String FRESHNESS = "spark.data_skip.freshness";
  private static final Pattern CONTRACT = Pattern.compile("listing|snapshot|bounded\\([0-9]{1,9}(\\.[0-9]{1,9})?\\)");
  private static final Pattern WHITE = Pattern.compile("\\s");
  private static final String MAX_BYTES = "spark.data_skip.join.maxBytes";
  private static final String PREFIX = "spark.data_skip.";
  private static final String STORAGE = "spark.data_skip.storage.";
  private static final String[][] SIZES = {{"spark.data_skip.join.leastBytes", "4m"}, {"spark.data_skip.records.maxBytes", "1g"}};
  private static final String[][] TIMES = {
    {"spark.data_skip.python.maxSeconds", "5"}, {"spark.data_skip.decideSeconds", "10"}, {"spark.data_skip.join.maxSeconds", "1"},
  };

  private UserSettings() {}

  /** Whether queries skip files: unless `spark.data_skip.enabled` says that they do not. */
  public static boolean enabled(SQLConf conf) {
    return !OFF.contains(read(conf, ENABLED, "true").toLowerCase(Locale.ROOT));
  }

  /** By which contract tables are read whose property does not say it: as it was written. */
  public static String freshness(SQLConf conf) {
    return read(conf, FRESHNESS, "listing");
  }

  /** How it was written. */
  public static String freshnessText(SQLConf conf) {
    return FRESHNESS + "=" + freshness(conf);
  }

  /** `listing`, `snapshot`, or as `bounded(60)`, of a text in any letters; null of one that is none of these. */
  public static String contract(String text) {
    String contract = WHITE.matcher(text).replaceAll("").toLowerCase(Locale.ROOT);
    return CONTRACT.matcher(contract).matches() ? contract : null;
  }

  /** The most that a small side may read; null where what is set is no size. */
  public static Long joinMaxBytes(SQLConf conf) {
    return bytes(read(conf, MAX_BYTES, "32m"));
  }

  /** How it was written. */
  public static String joinMaxBytesText(SQLConf conf) {
    return MAX_BYTES + "=" + read(conf, MAX_BYTES, "32m");
  }

  /** What running a small side has to save at least: about as much as is read in the time that a job takes, however small. */
  public static long joinLeastBytes(SQLConf conf) {
    return bytes(conf, SIZES[0]);
  }

  /** How much of the records of indexes is kept in memory. */
  public static long recordsMaxBytes(SQLConf conf) {
    return bytes(conf, SIZES[1]);
  }

  private static long bytes(SQLConf conf, String[] size) {
    Long set = bytes(read(conf, size[0], size[1]));
    return (set == null ? bytes(size[1]) : set).longValue();
  }

  /** null for what is no size. */
  private static Long bytes(String text) {
    try {
      return new Long(JavaUtils.byteStringAsBytes(text));
    } catch (IllegalArgumentException noSize) {
      return null;
    }
  }

  /** How long Python functions may take. */
  public static double pythonMaxSeconds(SQLConf conf) {
    return seconds(conf, TIMES[0][0], TIMES[0][1]);
  }

  /** How long it may take to decide which files of a scan are read. */
  public static double decideSeconds(SQLConf conf) {
    return seconds(conf, TIMES[1][0], TIMES[1][1]);
  }

  /** How long a small side may run, where `unset` is longer than that: as long as that, unless the user has said how long. */
  public static double joinMaxSeconds(SQLConf conf, double unset) {
    double set = seconds(conf, TIMES[2][0], TIMES[2][1]);
    return conf.contains(TIMES[2][0]) ? set : Math.max(set, unset);
  }

  /** Seconds, for people. */
  public static String shown(double seconds) {
    return Math.round(seconds * 10) / 10.0 + " s";
  }

  private static double seconds(SQLConf conf, String key, String unset) {
    Double read = seconds(read(conf, key, unset));
    return read == null ? Double.parseDouble(unset) : read.doubleValue();
  }

  /** null for what is no time. */
  private static Double seconds(String text) {
    try {
      if (NUMBER.matcher(text).matches()) { // Java takes 5d for 5, where it is days; and of hundreds of digits it makes what JSON has no number for
        Double read = Double.valueOf(text);
        return read.isInfinite() ? null : read;
      }
      return new Double(JavaUtils.timeStringAs(text, java.util.concurrent.TimeUnit.MILLISECONDS) / 1000.0);
    } catch (IllegalArgumentException noTime) {
      return null;
    }
  }

  /** What is set, and cannot be read, or is no setting: for people. */
  public static List unreadable(SQLConf conf) {
    List notes = new ArrayList();
    String enabled = read(conf, ENABLED, "true").toLowerCase(Locale.ROOT);
    if (!OFF.contains(enabled) && !ON.contains(enabled)) notes.add(ENABLED + "=" + enabled + " is neither true nor false: it counts as true");
    for (int i = 0; i < SIZES.length; i++) {
      String text = read(conf, SIZES[i][0], SIZES[i][1]);
      if (bytes(text) == null) notes.add(SIZES[i][0] + "=" + text + " is no size, as 4194304 or 4m are: it counts as " + SIZES[i][1]);
    }
    for (int i = 0; i < TIMES.length; i++) {
      String text = read(conf, TIMES[i][0], TIMES[i][1]);
      if (seconds(text) == null) notes.add(TIMES[i][0] + "=" + text + " is no time, as 10 or 10s are: it counts as " + TIMES[i][1]);
    }
    List known = known();
    Object[] keys = conf.settings().keySet().toArray();
    for (int i = 0; i < keys.length; i++) {
      String key = (String) keys[i];
      if (!key.startsWith(PREFIX) || key.startsWith(STORAGE) || known.contains(key)) continue;
      notes.add(key + " is no setting; these are: " + String.join(", ", known) + ", " + STORAGE + "*");
    }
    return notes;
  }

  private static List known() {
    List known = new ArrayList(Arrays.asList(new String[] {ENABLED, FRESHNESS, MAX_BYTES}));
    for (int i = 0; i < SIZES.length; i++) known.add(SIZES[i][0]);
    for (int i = 0; i < TIMES.length; i++) known.add(TIMES[i][0]);
    return known;
  }

  private static String read(SQLConf conf, String key, String unset) {
    return conf.getConfString(key, unset).trim();
  }
}
