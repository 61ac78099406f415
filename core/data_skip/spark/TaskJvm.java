package data_skip;

import java.util.Locale;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;

/**
 * What the JVMs in which tasks run have by default, beside this one. Of a local session they are one; of those that run on other machines it
 * is known only where executors are told it.
 */
public final class TaskJvm {
  public static final String LOCALES = "java.locale.providers"; // as settings.py has it
  private static final String ENVIRONMENT = "spark.executorEnv.";
  private static final String DEFAULT = "(default)";
  private static final String MACHINES = "that of their machines"; // as reader.py has it
  // What Java goes through, the last of which counts
  private static final String[] OPTIONS = {
    ENVIRONMENT + "JAVA_TOOL_OPTIONS", ENVIRONMENT + "JDK_JAVA_OPTIONS", "spark.executor.defaultJavaOptions", "spark.executor.extraJavaOptions",
    ENVIRONMENT + "_JAVA_OPTIONS",
  };

  private TaskJvm() {}

  /** The time zone of the JVMs that evaluate expressions, here, and read files, in tasks. */
  public static String zone(SparkConf conf) {
    return everywhere(conf, TimeZone.getDefault().getID(), told(conf, "user.timezone"), "TZ");
  }

  public static String locale(SparkConf conf) {
    String language = told(conf, "user.language");
    String country = language == null ? null : told(conf, "user.country");
    String told = country == null ? null : new Locale(language, country).toLanguageTag();
    return everywhere(conf, Locale.getDefault().toLanguageTag(), told, "LC_ALL LC_CTYPE LC_MESSAGES LANG");
  }

  /** Whose names of months, zones and the like they take; null: those of Java itself. */
  public static String locales(SparkConf conf) {
    String here = System.getProperty(LOCALES);
    String told = told(conf, LOCALES);
    if (here == null && told == null) return null;
    return everywhere(conf, here == null ? DEFAULT : here, told == null ? DEFAULT : told, "");
  }

  /** Whether tasks surely make the same letters small and large: those beyond ASCII go by the language. */
  public static boolean hasLanguage() {
    SparkConf conf = ofSpark();
    return conf != null && (isLocal(conf) || Locale.getDefault().getLanguage().equals(told(conf, "user.language")));
  }

  /** Whether tasks surely have the same time zone. */
  public static boolean hasZone() {
    SparkConf conf = ofSpark();
    return conf != null && zone(conf).equals(TimeZone.getDefault().getID());
  }

  /** Whether tasks have the same names of months and zones, as far as they are told. */
  public static boolean hasNames() {
    SparkConf conf = ofSpark();
    return conf != null && String.valueOf(locales(conf)).equals(String.valueOf(System.getProperty(LOCALES)));
  }

  /** Of the Spark that runs here, as it was started; null: of none. SparkEnv has it too, and in 4.3 names classes that PySpark does not bring. */
  private static SparkConf ofSpark() {
    scala.Option context = SparkContext$.MODULE$.getActive();
    return context.isEmpty() ? null : ((SparkContext) context.get()).conf();
  }

  private static boolean isLocal(SparkConf conf) {
    String master = conf.get("spark.master", "");
    return master.equals("local") || master.startsWith("local["); // as SparkContext has it
  }

  /** What is so here, and in tasks; told: null where they are not told, by whose `variables` it may be. */
  private static String everywhere(SparkConf conf, String here, String told, String variables) {
    if (isLocal(conf) || here.equals(told)) return here;
    return here + " (driver), " + (told == null ? MACHINES + set(conf, variables) : told) + " (tasks)";
  }

  /** Those of some variables of the environment that executors are given. */
  private static String set(SparkConf conf, String variables) {
    StringBuilder given = new StringBuilder();
    String[] each = variables.split(" ");
    for (int i = 0; i < each.length; i++) {
      if (conf.contains(ENVIRONMENT + each[i])) given.append(" with ").append(each[i]).append('=').append(conf.get(ENVIRONMENT + each[i]));
    }
    return given.toString();
  }

  /** The value of a property of Java that executors are started with, null without, and of a local session: of several the last one counts. */
  private static String told(SparkConf conf, String property) {
    if (isLocal(conf)) return null;
    String value = null;
    for (int i = 0; i < OPTIONS.length; i++) {
      Matcher found = Pattern.compile("(?:^|[\\s\"'])-D" + Pattern.quote(property) + "=[\"']?([^\\s\"']*)").matcher(conf.get(OPTIONS[i], ""));
      while (found.find()) value = found.group(1);
    }
    return value;
  }
}
