package data_skip;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;

/**
 * The file versions of the last few snapshots of indexes, so that a query need not hand its listing over to Python: the JVM looks
 * files up, and only bits cross. They are kept as long as Spark runs.
 */
public final class KnownFiles {
  private static final int KEPT = 16;
  private static final Map SNAPSHOTS = Collections.synchronizedMap(new Recent());

  private static SparkContext running;

  private final String root;
  private final Map slots = new HashMap();

  private static final class Recent extends LinkedHashMap {
    Recent() {
      super(KEPT, 0.75f, true);
    }

    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > KEPT;
    }
  }

  /** `versions`: path relative to the root, size and modification time of each file version, separated by tabs and line feeds. */
  private KnownFiles(String root, byte[] versions) {
    this.root = root + "/";
    if (versions.length == 0) return;
    String[] lines = new String(versions, StandardCharsets.UTF_8).split("\n");
    for (int i = 0; i < lines.length; i++) slots.put(lines[i], new Integer(i));
  }

  /** From now on nothing is kept when this Spark stops. */
  public static synchronized void whileRunning(final SparkContext context) {
    if (running == context) return;
    SNAPSHOTS.clear();
    running = context;
    context.addSparkListener(new SparkListener() {
      public void onApplicationEnd(SparkListenerApplicationEnd end) {
        stopped(context);
      }
    });
  }

  private static synchronized void stopped(SparkContext context) {
    if (running != context) return;
    SNAPSHOTS.clear();
    running = null;
  }

  /** How many snapshots are kept. */
  public static int count() {
    return SNAPSHOTS.size();
  }

  public static KnownFiles get(String snapshot) {
    return (KnownFiles) SNAPSHOTS.get(snapshot);
  }

  public static KnownFiles put(String snapshot, String root, byte[] versions) {
    KnownFiles known = new KnownFiles(root, versions);
    SNAPSHOTS.put(snapshot, known);
    return known;
  }

  /** The place of a file version in the snapshot, -1 where it has none. */
  public int slot(String path, long size, long modificationTime) {
    if (!path.startsWith(root)) return -1;
    Object slot = slots.get(path.substring(root.length()) + "\t" + size + "\t" + modificationTime);
    return slot == null ? -1 : ((Integer) slot).intValue();
  }
}
