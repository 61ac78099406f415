package data_skip;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * The file versions of the last few snapshots of indexes, so that a query need not hand its listing over to Python: the JVM looks
 * files up, and only bits cross. They are kept as long as Spark runs: mapped from a file, with no object a file, and some ten bytes of a table
 * to look them up.
 */
public final class KnownFiles implements Folders.Versions {
  private static final int KEPT = 16;
  private static final int FEW = 10000; // files: what is said of them takes less than asking for it
  private static final int HEADER = 32; // bytes before the first size
  private static final int STEP = 1 << 30; // bytes of paths, from one buffer's start to the next one's
  private static final Map SNAPSHOTS = Collections.synchronizedMap(new Recent(KEPT));

  private static final int MOST_QUERIES = 4096; // that run at once
  private static final Map GIVEN = Collections.synchronizedMap(new Recent(MOST_QUERIES)); // by the query, a Map

  private static SparkContext running;

  private final String root;
  private final KnownFiles base; // of an earlier version of the index, with the first of these file versions; null where all are here
  private final int first; // the number of those
  private final int count; // of all
  private final boolean flat; // whether all lie in one folder, and have names that say nothing of what they are
  private final ByteBuffer sizes; // these and the following without those of `base`
  private final ByteBuffer times;
  private final int width; // bytes of each of `starts`
  private final ByteBuffer starts; // of each path, and the end of the last
  private final ByteBuffer listed; // of all
  private final ByteBuffer[] paths; // each as much as fits into one: a path lies in that in which it begins
  private int[] table; // places here, each plus one, by the hash of the file version; made when one is looked up
  private volatile int[][] folders; // as byFolder gives them

  private static final class Recent extends LinkedHashMap {
    private final int most;

    Recent(int most) {
      super(16, 0.75f, true);
      this.most = most;
    }

    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > most;
    }
  }

  /** `file`: as Python's store/keys_file.py lays them out. base: with the first of them, null where there are none before those in the file. */
  private KnownFiles(String root, String file, KnownFiles base) throws IOException {
    this.root = root + "/";
    this.base = base;
    FileChannel channel = FileChannel.open(Paths.get(file, new String[0]), new OpenOption[] {StandardOpenOption.READ});
    try {
      ByteBuffer counts = mapped(channel, 0, HEADER);
      int own = Math.toIntExact(counts.getLong(0));
      first = Math.toIntExact(counts.getLong(8));
      flat = counts.getLong(16) == 1;
      width = Math.toIntExact(counts.getLong(24));
      count = Math.addExact(first, own);
      long longs = 8L * own;
      sizes = mapped(channel, HEADER, longs);
      times = mapped(channel, HEADER + longs, longs);
      long begins = (long) width * (own + 1);
      starts = mapped(channel, HEADER + 2 * longs, begins);
      listed = mapped(channel, HEADER + 2 * longs + begins, count);
      long end = start(count);
      paths = new ByteBuffer[Math.toIntExact(end / STEP) + 1];
      for (int i = 0; i < paths.length; i++) {
        long start = (long) STEP * i;
        paths[i] = mapped(channel, HEADER + 2 * longs + begins + count + start, Math.min(end - start, Integer.MAX_VALUE));
      }
    } finally {
      channel.close();
    }
  }

  /** How many file versions are before those in a file. */
  private static long first(String file) throws IOException {
    FileChannel channel = FileChannel.open(Paths.get(file, new String[0]), new OpenOption[] {StandardOpenOption.READ});
    try {
      return mapped(channel, 8, 8).getLong(0);
    } finally {
      channel.close();
    }
  }

  /** Of two billion bytes at most, each: Python hands over no more file versions. */
  private static ByteBuffer mapped(FileChannel channel, long start, long length) throws IOException {
    return channel.map(FileChannel.MapMode.READ_ONLY, start, length).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** From now on nothing is kept when this Spark stops. */
  public static synchronized void whileRunning(final SparkContext context) {
    if (running == context) return;
    SNAPSHOTS.clear();
    GIVEN.clear();
    running = context;
    context.addSparkListener(new SparkListener() {
      public void onApplicationEnd(SparkListenerApplicationEnd end) {
        stopped(context);
      }

      public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionEnd) GIVEN.remove(Long.toString(((SparkListenerSQLExecutionEnd) event).executionId()));
      }
    });
  }

  private static synchronized void stopped(SparkContext context) {
    if (running != context) return;
    SNAPSHOTS.clear();
    GIVEN.clear();
    running = null;
  }

  /** What a query was given of tables, and is given from now on, by the table: kept as long as it runs. */
  public static Map givenTo(String query) {
    synchronized (GIVEN) {
      Map given = (Map) GIVEN.get(query);
      if (given == null) GIVEN.put(query, given = new ConcurrentHashMap());
      return given;
    }
  }

  /** How many queries are known to run. */
  public static int queries() {
    return GIVEN.size();
  }

  /** How many snapshots are kept. */
  public static int kept() {
    return SNAPSHOTS.size();
  }

  public static KnownFiles get(String snapshot) {
    return (KnownFiles) SNAPSHOTS.get(snapshot);
  }

  /** The last snapshot of few files of a table that was asked about; null where none is kept. */
  public static String last(String root) {
    String found = null;
    synchronized (SNAPSHOTS) {
      java.util.Iterator all = SNAPSHOTS.entrySet().iterator(); // the last that was asked about is the last
      while (all.hasNext()) {
        Map.Entry one = (Map.Entry) all.next();
        KnownFiles known = (KnownFiles) one.getValue();
        if (known.count <= FEW && known.root.length() == root.length() + 1 && known.root.startsWith(root)) found = (String) one.getKey();
      }
    }
    return found;
  }

  /** after: the snapshot in which the file versions before those in the file are; "" where there are none. Null where these are not known so. */
  public static KnownFiles put(String snapshot, String root, String file, String after) throws IOException {
    KnownFiles before = after.isEmpty() ? null : get(after);
    if (before == null && !after.isEmpty()) return null;
    KnownFiles base = before == null || before.base == null ? before : before.base;
    if (base != null && base.count != first(file)) return null; // it was handed over anew meanwhile
    KnownFiles known = new KnownFiles(root, file, base);
    SNAPSHOTS.put(snapshot, known);
    return known;
  }

  /** The place of a file version in the snapshot, -1 where it has none. */
  public int slot(String path, long size, long modificationTime) {
    if (!path.startsWith(root)) return -1;
    byte[] relative = path.substring(root.length()).getBytes(StandardCharsets.UTF_8);
    int found = base == null ? -1 : base.slot(relative, size, modificationTime);
    return found >= 0 ? found : slot(relative, size, modificationTime);
  }

  private int slot(byte[] relative, long size, long modificationTime) {
    int[] table = table();
    for (int at = hash(relative, size, modificationTime) & (table.length - 1); table[at] != 0; at = (at + 1) & (table.length - 1)) {
      int slot = first + table[at] - 1;
      if (size(slot) == size && modificationTime(slot) == modificationTime && Arrays.equals(path(slot), relative)) return slot;
    }
    return -1;
  }

  public long size(int slot) {
    return slot < first ? base.size(slot) : sizes.getLong(8 * (slot - first));
  }

  public long modificationTime(int slot) {
    return slot < first ? base.modificationTime(slot) : times.getLong(8 * (slot - first));
  }

  /** As `_metadata.file_path` has it. */
  public String uri(int slot) {
    return root + new String(path(slot), StandardCharsets.UTF_8);
  }

  /**
   * The places of the listed files, a row a folder: of its files with rows, or, where it has none, of one without. A file whose name may say
   * that it is no data has a row of its own, so that Spark tells whether it is.
   */
  public int[][] byFolder() {
    if (folders == null) {
      Folders before = base == null ? new Folders(this) : Folders.of(base.byFolder(), base, this);
      if (before == null) before = new Folders(this).with(base, 0, base.flat);
      folders = before.with(this, first, flat).all();
    }
    return folders;
  }

  /** How many file versions there are. */
  public int count() {
    return count;
  }

  public boolean isListed(int slot) {
    return listed.get(slot) != 0;
  }

  private synchronized int[] table() {
    if (table != null) return table;
    int[] made = new int[Integer.highestOneBit(Math.max(count - first, 1)) * 4]; // at most half of it is taken
    for (int slot = first; slot < count; slot++) {
      int at = hash(path(slot), size(slot), modificationTime(slot)) & (made.length - 1);
      while (made[at] != 0) at = (at + 1) & (made.length - 1);
      made[at] = slot - first + 1;
    }
    return table = made;
  }

  private static int hash(byte[] path, long size, long modificationTime) {
    int seed = Long.hashCode(size * 31 + modificationTime);
    return Murmur3_x86_32.hashUnsafeBytes(path, Platform.BYTE_ARRAY_OFFSET, path.length, seed);
  }

  public long start(int slot) {
    int at = width * (slot - first);
    return width == 4 ? starts.getInt(at) : starts.getLong(at);
  }

  public byte[] path(int slot) {
    return slot < first ? base.path(slot) : bytes(start(slot), start(slot + 1));
  }

  public byte[] bytes(long start, long end) {
    byte[] found = new byte[(int) (end - start)];
    paths[(int) (start / STEP)].get((int) (start % STEP), found); // by position: any thread may ask
    return found;
  }
}
