package data_skip;

import com.fasterxml.jackson.databind.util.RawValue;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.ConfigEntry$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** What is set in a session, and not at its default, of what readers of files and expressions may ask for. */
public final class SessionSettings {
  /** Settings of how work is cut and exchanged: rows are the same however it is. Spark turns off some of them for a cache (its CacheManager). */
  private static final String[] OF_WORK = {
    "spark.sql.adaptive.", "spark.sql.sources.bucketing.", "spark.sql.shuffle.", "spark.sql.autoBroadcastJoinThreshold",
  };
  private static final String JAVA = "java.specification.version";
  private static final Map LAST = Collections.synchronizedMap(new WeakHashMap()); // by SQLConf: what was set, what else counts, and what was told of that

  private final SQLConf conf;

  public SessionSettings(SQLConf conf) {
    this.conf = conf;
  }

  /** JSON: what is set in the session of a relation, and, where that is another, in that of the query. */
  public static RawValue of(SparkSession relation, SparkSession query) {
    SQLConf conf = query.sessionState().conf();
    String all = new SessionSettings(relation.sessionState().conf()).all(relation.sparkContext());
    if (conf != relation.sessionState().conf()) all += "," + new SessionSettings(conf).all(relation.sparkContext());
    return new RawValue("[" + all + "]");
  }

  /** JSON: of Spark SQL, and of Hadoop's libraries. All scans of a query ask for the same. */
  private String all(SparkContext context) {
    Map ofJava = ofJava(context.conf());
    List by = Arrays.asList(new Object[] {HadoopSettings.of(context.hadoopConfiguration()), ofJava});
    Object[] last = (Object[]) LAST.get(conf);
    if (last != null && by.equals(last[1]) && conf.settings().equals(last[0])) return (String) last[2];
    Map settings = new HashMap(scala.jdk.javaapi.CollectionConverters.asJava(conf.getAllConfs()));
    Map result = new TreeMap((Map) by.get(0));
    boolean same = addTo(result, settings);
    result.putAll(effective());
    result.putAll(ofJava);
    String json = Plans.json(result);
    if (same && conf.settings().equals(settings)) LAST.put(conf, new Object[] {settings, by, json}); // else they were changed meanwhile
    return json;
  }

  /**
   * Whether functions and readers that ask for settings as they run, as for the policy by which times are parsed, or to_json whether it leaves out
   * fields that are NULL, find the same ones. Which they ask for is a list that is never complete. A cache is planned in a session of its own,
   * with the settings of that moment, and filled by those of the query that is the first to read it.
   */
  public static boolean runAlike(SQLConf one, SQLConf other) {
    return one == other || askedLate(one).equals(askedLate(other));
  }

  private static Map askedLate(SQLConf conf) {
    Map late = new LinkedHashMap();
    for (Iterator all = scala.jdk.javaapi.CollectionConverters.asJava(conf.getAllConfs()).entrySet().iterator(); all.hasNext();) {
      Map.Entry entry = (Map.Entry) all.next();
      String key = (String) entry.getKey();
      boolean isLate = key.startsWith("spark.sql.");
      for (int i = 0; i < OF_WORK.length; i++) isLate &= !key.startsWith(OF_WORK[i]);
      if (isLate) late.put(key, entry.getValue());
    }
    return late;
  }

  /**
   * Adds those of a session, in one form, whatever was written. Whether they are the same as long as what is set is: not where a value names
   * a variable, as of the environment.
   */
  private boolean addTo(Map result, Map settings) {
    boolean same = true;
    Iterator set = settings.entrySet().iterator();
    while (set.hasNext()) {
      Map.Entry entry = (Map.Entry) set.next();
      String key = (String) entry.getKey();
      same = same && ((String) entry.getValue()).indexOf('$') < 0;
      boolean ofSql = key.startsWith("spark.sql.");
      if (!ofSql && !HadoopSettings.ofLibraries(key)) continue;
      String value = ofSql ? differing(key, (String) entry.getValue()) : ((String) entry.getValue()).trim();
      if (value != null) result.put(key, value);
    }
    return same;
  }

  /** What a session gives whether or not it is set: at other defaults on another machine, in another environment, or by another Spark. */
  private Map effective() {
    Map result = new LinkedHashMap();
    result.put("spark.sql.session.timeZone", conf.sessionLocalTimeZone());
    result.put("spark.sql.ansi.enabled", String.valueOf(conf.ansiEnabled()));
    result.put("spark.sql.legacy.timeParserPolicy", conf.getConfString("spark.sql.legacy.timeParserPolicy").toUpperCase(Locale.ROOT));
    String[] version = org.apache.spark.package$.MODULE$.SPARK_VERSION().split("\\.");
    result.put("spark.version", version[0] + "." + version[1]);
    return result;
  }

  /** What Java gives, here and in tasks. */
  private static Map ofJava(SparkConf conf) {
    Map result = new LinkedHashMap();
    result.put("user.timezone", TaskJvm.zone(conf));
    result.put("user.locale", TaskJvm.locale(conf));
    String locales = TaskJvm.locales(conf);
    if (locales != null) result.put(TaskJvm.LOCALES, locales);
    result.put(JAVA, System.getProperty(JAVA));
    result.put("java.time.zone.version", ruleVersion());
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
}
