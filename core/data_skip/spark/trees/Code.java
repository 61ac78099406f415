package data_skip;

import java.io.File;
import java.security.CodeSource;
import java.security.MessageDigest;
import java.util.Enumeration;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * Which code a class is of, where that is neither Java's nor Spark's, of which every reader tells the version: another jar may have another
 * of its name.
 */
public final class Code {
  private static final ConcurrentHashMap DIGESTS = new ConcurrentHashMap(); // of jars, by path, size and modification time
  private static final ClassValue KNOWN = new ClassValue() {
    protected Object computeValue(Class type) {
      return found(type);
    }
  };

  private static final String OF_SPARK = "org.apache.spark.sql.catalyst.expressions.";
  private static final ClassValue NAMES = new ClassValue() {
    protected Object computeValue(Class type) {
      return isTakenForSparks(type) ? type.getName() : type.getSimpleName();
    }
  };

  private Code() {}

  /** By which an expression is known: the simple name of its class, but the whole one of another's that is called as one of Spark's. */
  public static String nameOf(Expression expression) {
    return (String) NAMES.get(expression.getClass());
  }

  /** Whether an expression is one of those that Spark's catalyst has, and none of another's that is called as they are. */
  public static boolean isOfCatalyst(Expression expression) {
    return expression.getClass().getName().startsWith(OF_SPARK) && of(expression.getClass()).isEmpty();
  }

  private static boolean isTakenForSparks(Class type) {
    if (of(type).isEmpty()) return false;
    try {
      return Class.forName(OF_SPARK + type.getSimpleName(), false, Expression.class.getClassLoader()) != type;
    } catch (ClassNotFoundException own) {
      return false;
    } catch (LinkageError of) { // as where names differ by their case
      return true;
    }
  }

  /** "" of Java's and Spark's; of a jar a digest of what it holds, whatever it is called; "?" where that is not known. */
  public static String of(Class type) {
    return (String) KNOWN.get(type);
  }

  /** As `of`, of a class by its name, as the session's loader finds it. */
  public static String ofName(String name) {
    try {
      return of(Class.forName(name, false, org.apache.spark.util.Utils$.MODULE$.getContextOrSparkClassLoader()));
    } catch (Throwable unknown) {
      return "?";
    }
  }

  private static String found(Class type) {
    if (type.isPrimitive() || type.getClassLoader() == null || type.getClassLoader() == ClassLoader.getPlatformClassLoader()) return "";
    try {
      File jar = jar(type);
      if (!jar.isFile()) return "?";
      if (jar.getName().startsWith("spark-") && jar.getParentFile().equals(jar(Expression.class).getParentFile())) return "";
      String key = jar + " " + jar.length() + " " + jar.lastModified();
      String known = (String) DIGESTS.get(key);
      if (known == null) DIGESTS.put(key, known = digest(jar));
      return known;
    } catch (Exception unknown) {
      return "?";
    }
  }

  private static File jar(Class type) throws java.net.URISyntaxException {
    CodeSource source = type.getProtectionDomain().getCodeSource();
    return new File(source.getLocation().toURI());
  }

  /** By the checksums that the jar's own directory tells. */
  private static String digest(File jar) throws Exception {
    TreeSet entries = new TreeSet();
    ZipFile zip = new ZipFile(jar);
    try {
      for (Enumeration each = zip.entries(); each.hasMoreElements();) {
        ZipEntry entry = (ZipEntry) each.nextElement();
        entries.add(entry.getName() + " " + entry.getSize() + " " + entry.getCrc());
      }
    } finally {
      zip.close();
    }
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(entries.toString().getBytes("UTF-8"));
    return new java.math.BigInteger(1, digest).toString(16);
  }
}
