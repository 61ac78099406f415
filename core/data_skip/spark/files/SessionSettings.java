package data_skip;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.ConfigEntry$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** What is set in a session, and not at its default, of what readers of files and expressions may ask for. */
public final class SessionSettings {
  private static final int MOST_KEYS = 10000; // that are remembered: users' own may be any
  private static volatile String[] libraries = new String[0];
  private static final Map OF_LIBRARIES = new ConcurrentHashMap(); // of keys of Hadoop whether they are

  private static final Method PROPERTIES = properties();

  private final SQLConf conf;

  public SessionSettings(SQLConf conf) {
    this.conf = conf;
  }

  /** With what the keys of Hadoop's libraries begin that read files, separated by commas. */
  public static void libraries(String prefixes) {
    libraries = prefixes.split(",");
    OF_LIBRARIES.clear();
  }

  /** Ready for JSON: what is set in the session of a relation, and, where that is another, in that of the query. */
  public static List of(SparkSession relation, SparkSession query) {
    List result = new ArrayList();
    result.add(new SessionSettings(relation.sessionState().conf()).all(relation));
    SQLConf conf = query.sessionState().conf();
    if (conf != relation.sessionState().conf()) result.add(new SessionSettings(conf).all(relation));
    return result;
  }

  private Map all(SparkSession relation) {
    Map result = explicit(relation.sparkContext().hadoopConfiguration());
    result.putAll(effective());
    return result;
  }

  /** Of Spark SQL, and of Hadoop's libraries; in one form, whatever was written. */
  public Map explicit(Configuration hadoop) {
    Map result = new TreeMap();
    Iterator entries = entries(hadoop);
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      if (!(entry.getKey() instanceof String)) continue;
      String key = (String) entry.getKey();
      if (ofLibraries(key) && !byDefault(hadoop, key)) result.put(key, String.valueOf(entry.getValue()).trim());
    }
    Iterator set = scala.jdk.javaapi.CollectionConverters.asJava(conf.getAllConfs()).entrySet().iterator();
    while (set.hasNext()) {
      Map.Entry entry = (Map.Entry) set.next();
      String key = (String) entry.getKey();
      boolean ofSql = key.startsWith("spark.sql.");
      if (!ofSql && !ofLibraries(key)) continue;
      String value = ofSql ? differing(key, (String) entry.getValue()) : ((String) entry.getValue()).trim();
      if (value != null) result.put(key, value);
    }
    return result;
  }

  /** What is set in a Configuration. That copies all of its thousand settings for whoever asks: a quarter of what is done here for a scan. */
  private static Iterator entries(Configuration hadoop) {
    try {
      if (PROPERTIES != null) return ((Map) PROPERTIES.invoke(hadoop, new Object[0])).entrySet().iterator();
    } catch (Exception otherwise) {
      // a Hadoop that keeps them in another way
    }
    return hadoop.iterator();
  }

  private static Method properties() {
    try {
      Method found = Configuration.class.getDeclaredMethod("getProps", new Class[0]);
      found.setAccessible(true);
      return found;
    } catch (Exception otherwise) {
      return null;
    }
  }

  /** What a session gives whether or not it is set: at other defaults on another machine, in another environment, or by another Spark. */
  public Map effective() {
    Map result = new LinkedHashMap();
    result.put("spark.sql.session.timeZone", conf.sessionLocalTimeZone());
    result.put("spark.sql.ansi.enabled", String.valueOf(conf.ansiEnabled()));
    result.put("spark.sql.legacy.timeParserPolicy", conf.getConfString("spark.sql.legacy.timeParserPolicy").toUpperCase(java.util.Locale.ROOT));
    result.put("user.timezone", java.util.TimeZone.getDefault().getID());
    result.put("user.locale", java.util.Locale.getDefault().toLanguageTag());
    result.put("java.specification.version", System.getProperty("java.specification.version"));
    result.put("java.time.zone.version", ruleVersion());
    String[] version = org.apache.spark.package$.MODULE$.SPARK_VERSION().split("\\.");
    result.put("spark.version", version[0] + "." + version[1]);
    return result;
  }

  /** Of the rules of time zones that this Java brings, as `2024a`: updates of the same version of Java bring others. */
  private static String ruleVersion() {
    return (String) java.time.zone.ZoneRulesProvider.getVersions("UTC").lastKey();
  }

  /** The value of a setting, null where it is the default. */
  private String differing(String key, String text) {
    ConfigEntry entry = ConfigEntry$.MODULE$.findEntry(key);
    if (entry == null) return text;
    try {
      Object value = conf.getConf(entry);
      Object unset = entry.defaultValue().isDefined() ? entry.defaultValue().get() : null;
      return value.equals(unset) ? null : value instanceof scala.Option ? text : value.toString();
    } catch (RuntimeException unreadable) {
      return text;
    }
  }

  private static boolean ofLibraries(String key) {
    Boolean known = (Boolean) OF_LIBRARIES.get(key);
    if (known != null) return known.booleanValue();
    boolean found = false;
    for (int i = 0; i < libraries.length; i++) found = found || key.startsWith(libraries[i]);
    if (OF_LIBRARIES.size() < MOST_KEYS) OF_LIBRARIES.put(key, Boolean.valueOf(found));
    return found;
  }

  private static boolean byDefault(Configuration hadoop, String key) {
    String[] sources = hadoop.getPropertySources(key);
    return sources != null && sources.length > 0 && sources[sources.length - 1].endsWith("-default.xml");
  }
}
