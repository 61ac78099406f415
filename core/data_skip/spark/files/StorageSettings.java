package data_skip;

import java.io.Closeable;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;

/** How Spark reaches a file system, for a library that has to reach it as well. */
public final class StorageSettings {
  private static final String OVERRIDES = "spark.data_skip.storage.";
  private static final Map REGIONS = new ConcurrentHashMap(); // by the URI of a bucket

  private StorageSettings() {}

  /**
   * JSON: `set`: of some keys of Hadoop what is set, of secret ones also in its stores of passwords; `credentials`: those of S3A, whoever
   * provides them (absent where the file system is another); `file_system`: its class (absent where it cannot be made); `region`: where its
   * bucket lies; `proxy`: whether it may be asked by one that the library is not told (absent where it is not); `overrides`: what the user
   * has set for the library.
   *
   * As bytes: what py4j logs of an answer is not the text itself.
   */
  public static byte[] of(SparkSession session, String uri, String keys, String secrets) throws java.io.IOException {
    Configuration hadoop = session.sessionState().newHadoopConf();
    Path path = path(uri, hadoop);
    Map result = new LinkedHashMap();
    FileSystem files = null;
    try {
      files = path.getFileSystem(hadoop); // which keeps what it was made with, as Spark's own reads have it
      if (files.getConf() != null) hadoop = files.getConf(); // of this bucket, as of the moment in which it was first read
    } catch (Exception otherwise) {
      // its own library is missing: then nobody reads a table there, and an index by itself may lie there all the same
    }
    Map set = new LinkedHashMap();
    String[] each = names(keys);
    for (int i = 0; i < each.length; i++) if (hadoop.getTrimmed(each[i]) != null) set.put(each[i], hadoop.getTrimmed(each[i]));
    each = names(secrets);
    for (int i = 0; i < each.length; i++) {
      char[] found = hadoop.getPassword(each[i]);
      if (found != null) set.put(each[i], new String(found).trim());
    }
    result.put("set", set);
    if (byProxy(session, hadoop)) result.put("proxy", Boolean.TRUE);
    if (files != null) result.put("file_system", files.getClass().getName());
    Object s3 = internals(files);
    if (s3 != null) {
      Map credentials = credentials(s3);
      if (credentials != null) result.put("credentials", credentials);
      if (!saysWhere(hadoop) && credentials != null) result.put("region", region(s3, files.getUri()));
    }
    Map overrides = new LinkedHashMap();
    java.util.Iterator all = scala.jdk.javaapi.CollectionConverters.asJava(session.sessionState().conf().getAllConfs()).entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry entry = (Map.Entry) all.next();
      String key = (String) entry.getKey();
      if (key.startsWith(OVERRIDES)) overrides.put(key.substring(OVERRIDES.length()), entry.getValue());
    }
    result.put("overrides", overrides);
    return Plans.json(result).getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  /** Whether libraries of Java take a proxy from what Java itself is told, here or where tasks run. */
  private static boolean byProxy(SparkSession session, Configuration hadoop) {
    String[] hosts = {"http.proxyHost", "https.proxyHost", "socksProxyHost"};
    for (int i = 0; i < hosts.length; i++) if (!System.getProperty(hosts[i], "").isEmpty()) return true;
    if (Boolean.getBoolean("java.net.useSystemProxies") || !hadoop.getTrimmed("fs.gs.proxy.address", "").isEmpty()) return true;
    String[] ofTasks = {"spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions"};
    for (int i = 0; i < ofTasks.length; i++) {
      String options = session.sparkContext().conf().get(ofTasks[i], "");
      if (options.contains("roxyHost") || options.contains("useSystemProxies")) return true;
    }
    return false;
  }

  private static String[] names(String text) {
    return text.isEmpty() ? new String[0] : text.split(" ");
  }

  /** The path of a URI; where Hadoop knows no s3:, which libraries of Python say, that of S3A. */
  public static Path path(String uri, Configuration hadoop) {
    String scheme = java.net.URI.create(uri).getScheme();
    if ("s3".equals(scheme) || "s3n".equals(scheme)) {
      try {
        FileSystem.getFileSystemClass(scheme, hadoop);
      } catch (java.io.IOException none) {
        return new Path(java.net.URI.create("s3a" + uri.substring(scheme.length())));
      }
    }
    return new Path(java.net.URI.create(uri));
  }

  private static boolean saysWhere(Configuration hadoop) {
    String endpoint = hadoop.getTrimmed("fs.s3a.endpoint", "");
    return !hadoop.getTrimmed("fs.s3a.endpoint.region", "").isEmpty() || !(endpoint.isEmpty() || endpoint.endsWith("s3.amazonaws.com"));
  }

  /** What S3A opens to other libraries of its own; null of another file system. */
  private static Object internals(FileSystem files) {
    try {
      return files == null ? null : files.getClass().getMethod("getS3AInternals", new Class[0]).invoke(files, new Object[0]);
    } catch (Exception none) {
      return null;
    }
  }

  private static Method method(Object internals, String name, Class[] types) throws Exception {
    return Class.forName("org.apache.hadoop.fs.s3a.S3AInternals", true, internals.getClass().getClassLoader()).getMethod(name, types);
  }

  /** Those of this moment; a key of them is absent where there is none, as of anonymous ones. null where S3A finds none itself. */
  private static Map credentials(Object internals) {
    try {
      Object shared = method(internals, "shareCredentials", new Class[] {String.class}).invoke(internals, new Object[] {"data-skip"});
      try {
        Object found = shared.getClass().getMethod("resolveCredentials", new Class[0]).invoke(shared, new Object[0]);
        Map result = new LinkedHashMap();
        put(result, "access_key", found, "accessKeyId");
        put(result, "secret_key", found, "secretAccessKey");
        put(result, "session_token", found, "sessionToken");
        return result;
      } finally {
        if (shared instanceof Closeable) ((Closeable) shared).close();
      }
    } catch (Exception none) {
      return null;
    }
  }

  private static void put(Map result, String key, Object credentials, String method) throws Exception {
    try {
      Object value = credentials.getClass().getMethod(method, new Class[0]).invoke(credentials, new Object[0]);
      if (value != null) result.put(key, value);
    } catch (NoSuchMethodException ofAnotherKind) {
      return;
    }
  }

  /** Asked once; "" where the store does not say. */
  private static String region(Object internals, java.net.URI bucket) {
    String known = (String) REGIONS.get(bucket);
    if (known != null) return known;
    try {
      known = (String) method(internals, "getBucketLocation", new Class[0]).invoke(internals, new Object[0]);
    } catch (Exception unknown) {
      known = null;
    }
    REGIONS.put(bucket, known == null ? "" : known);
    return known == null ? "" : known;
  }
}
