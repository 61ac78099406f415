package data_skip;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;

/**
 * What is set, and not at its default, in a Hadoop Configuration, of the libraries that read files.
 *
 * A Configuration has a thousand settings, nearly all of them defaults of its own files: each scan would go through all of them. What was
 * loaded from files stays until these are others, or are read anew into other Properties; all that is set since is in the `overlay`, and what
 * is taken away is gone.
 */
public final class HadoopSettings {
  private static final int MOST_KEYS = 10000; // that are remembered: users' own may be any
  private static volatile String[] libraries = new String[0];
  private static final Map OF_LIBRARIES = new ConcurrentHashMap(); // of keys whether they are
  private static final Map LOADED = Collections.synchronizedMap(new WeakHashMap()); // by Configuration: its Properties, how many files, the keys to look at

  private static final Method PROPERTIES = properties();
  private static final Field OVERLAY = field("overlay");
  private static final Field RESOURCES = field("resources");

  private HadoopSettings() {}

  /** With what the keys of libraries begin, separated by commas. */
  public static void libraries(String prefixes) {
    libraries = prefixes.split(",");
    OF_LIBRARIES.clear();
    LOADED.clear();
  }

  public static boolean ofLibraries(String key) {
    Boolean known = (Boolean) OF_LIBRARIES.get(key);
    if (known != null) return known.booleanValue();
    boolean found = false;
    String[] prefixes = libraries;
    for (int i = 0; i < prefixes.length; i++) found = found || key.startsWith(prefixes[i]);
    if (OF_LIBRARIES.size() < MOST_KEYS) OF_LIBRARIES.put(key, Boolean.valueOf(found));
    return found;
  }

  public static Map of(Configuration hadoop) {
    try {
      if (PROPERTIES != null && OVERLAY != null && RESOURCES != null) return ofLoaded(hadoop);
    } catch (Exception otherwise) {
      // a Hadoop that keeps them in another way
    }
    Map result = new TreeMap();
    Iterator entries = hadoop.iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      add(result, hadoop, (String) entry.getKey(), entry.getValue());
    }
    return result;
  }

  private static Map ofLoaded(Configuration hadoop) throws Exception {
    Map properties = (Map) PROPERTIES.invoke(hadoop, new Object[0]);
    Integer resources = new Integer(((List) RESOURCES.get(hadoop)).size());
    Object[] loaded = (Object[]) LOADED.get(hadoop);
    if (loaded == null || loaded[0] != properties || !loaded[1].equals(resources)) {
      Map found = new TreeMap();
      Iterator entries = properties.entrySet().iterator();
      while (entries.hasNext()) {
        Map.Entry entry = (Map.Entry) entries.next();
        if (entry.getKey() instanceof String) add(found, hadoop, (String) entry.getKey(), entry.getValue());
      }
      loaded = new Object[] {properties, resources, new ArrayList(found.keySet())};
      LOADED.put(hadoop, loaded);
    }
    Map result = new TreeMap();
    List keys = (List) loaded[2];
    for (int i = 0; i < keys.size(); i++) {
      Object value = properties.get(keys.get(i));
      if (value != null) result.put(keys.get(i), text(value));
    }
    Map overlay = (Map) OVERLAY.get(hadoop);
    Object[] set = overlay == null ? new Object[0] : overlay.keySet().toArray();
    for (int i = 0; i < set.length; i++) {
      Object value = properties.get(set[i]);
      if (value != null && set[i] instanceof String && !result.containsKey(set[i])) add(result, hadoop, (String) set[i], value);
    }
    return result;
  }

  private static void add(Map result, Configuration hadoop, String key, Object value) {
    if (ofLibraries(key) && !byDefault(hadoop, key)) result.put(key, text(value));
  }

  private static String text(Object value) {
    return String.valueOf(value).trim();
  }

  private static boolean byDefault(Configuration hadoop, String key) {
    String[] sources = hadoop.getPropertySources(key);
    return sources != null && sources.length > 0 && sources[sources.length - 1].endsWith("-default.xml");
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

  private static Field field(String name) {
    try {
      Field found = Configuration.class.getDeclaredField(name);
      found.setAccessible(true);
      return found;
    } catch (Exception otherwise) {
      return null;
    }
  }
}
