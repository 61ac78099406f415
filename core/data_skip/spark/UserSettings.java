package data_skip;

import java.util.Arrays;
import java.util.Locale;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.internal.SQLConf;

/** The settings of data-skip, read as Spark reads its own: in any letters, sizes and times with their units. */
public final class UserSettings {
  private static final String MAX_BYTES = "spark.data_skip.join.maxBytes";

  private UserSettings() {}

  /** Whether queries skip files: unless `spark.data_skip.enabled` says that they do not. */
  public static boolean enabled(SQLConf conf) {
    return !Arrays.asList(new String[] {"false", "off", "no", "0"}).contains(read(conf, "spark.data_skip.enabled", "true").toLowerCase(Locale.ROOT));
  }

  /** The most that a small side may read; null where what is set is no size. */
  public static Long joinMaxBytes(SQLConf conf) {
    try {
      return new Long(JavaUtils.byteStringAsBytes(read(conf, MAX_BYTES, "32m")));
    } catch (IllegalArgumentException noSize) {
      return null;
    }
  }

  /** How it was written. */
  public static String joinMaxBytesText(SQLConf conf) {
    return MAX_BYTES + "=" + read(conf, MAX_BYTES, "32m");
  }

  /** How long Python functions may take. */
  public static double pythonMaxSeconds(SQLConf conf) {
    return seconds(conf, "spark.data_skip.python.maxSeconds", "5");
  }

  /** How long it may take to decide which files of a scan are read. */
  public static double decideSeconds(SQLConf conf) {
    return seconds(conf, "spark.data_skip.decideSeconds", "10");
  }

  /** What is no time is none. */
  private static double seconds(SQLConf conf, String key, String unset) {
    String text = read(conf, key, unset);
    try {
      if (text.matches("[0-9.]+")) return Double.parseDouble(text); // which takes 5d for 5, where it is days
      return JavaUtils.timeStringAs(text, java.util.concurrent.TimeUnit.MILLISECONDS) / 1000.0;
    } catch (IllegalArgumentException noTime) {
      return 0;
    }
  }

  private static String read(SQLConf conf, String key, String unset) {
    return conf.getConfString(key, unset).trim();
  }
}
