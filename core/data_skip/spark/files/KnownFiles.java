package data_skip;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
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
public final class KnownFiles {
  private static final int KEPT = 16;
  private static final int BLOCK = 1 << 16; // bytes
  private static final int FEW = 10000; // files: what is said of them takes less than asking for it
  private static final Map SNAPSHOTS = Collections.synchronizedMap(new Recent(KEPT));

  private static final int MOST_QUERIES = 4096; // that run at once
  private static final Map GIVEN = Collections.synchronizedMap(new Recent(MOST_QUERIES)); // by the query, a Map

  private static SparkContext running;

  private final String root;
  private final int count;
  private final ByteBuffer sizes;
  private final ByteBuffer times;
  private final ByteBuffer starts; // of each path, and the end of the last
  private final ByteBuffer listed;
  private final ByteBuffer paths;
  private int[] table; // places in the snapshot, each plus one, by the hash of the file version; made when one is looked up

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

  /** `file`: as Python's store/versions.py packs them. */
  private KnownFiles(String root, String file) throws IOException {
    this.root = root + "/";
    FileChannel channel = FileChannel.open(Paths.get(file, new String[0]), new OpenOption[] {StandardOpenOption.READ});
    try {
      count = Math.toIntExact(mapped(channel, 0, 8).getLong(0));
      long longs = 8L * count;
      sizes = mapped(channel, 8, longs);
      times = mapped(channel, 8 + longs, longs);
      starts = mapped(channel, 8 + 2 * longs, longs + 8);
      listed = mapped(channel, 16 + 3 * longs, count);
      paths = mapped(channel, 16 + 3 * longs + count, starts.getLong(8 * count));
    } finally {
      channel.close();
    }
  }

  /** Of two billion bytes at most, each: Python hands over no more. */
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
  public static int count() {
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

  public static KnownFiles put(String snapshot, String root, String file) throws IOException {
    KnownFiles known = new KnownFiles(root, file);
    SNAPSHOTS.put(snapshot, known);
    return known;
  }

  /** The place of a file version in the snapshot, -1 where it has none. */
  public int slot(String path, long size, long modificationTime) {
    if (!path.startsWith(root)) return -1;
    byte[] relative = path.substring(root.length()).getBytes(StandardCharsets.UTF_8);
    int[] table = table();
    for (int at = hash(relative, size, modificationTime) & (table.length - 1); table[at] != 0; at = (at + 1) & (table.length - 1)) {
      int slot = table[at] - 1;
      boolean same = sizes.getLong(8 * slot) == size && times.getLong(8 * slot) == modificationTime;
      if (same && Arrays.equals(path(slot), relative)) return slot;
    }
    return -1;
  }

  public long size(int slot) {
    return sizes.getLong(8 * slot);
  }

  public long modificationTime(int slot) {
    return times.getLong(8 * slot);
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
    Map folders = new LinkedHashMap(); // by its path, the places of its files
    Map empty = new LinkedHashMap(); // by its path, a place: Spark reads no empty files, but takes the types of partitions from their folders
    IntBuffer inside = null;
    byte[] folder = null; // of the last file
    byte[] block = new byte[0]; // some of the paths: a buffer gives single bytes slowly
    int blockStart = 0;
    int blockEnd = 0;
    for (int slot = 0; slot < count; slot++) {
      if (listed.get(slot) == 0) continue;
      if (start(slot + 1) > blockEnd) {
        blockStart = start(slot);
        blockEnd = Math.max(start(slot + 1), Math.min(blockStart + BLOCK, start(count)));
        block = bytes(blockStart, blockEnd);
      }
      int start = start(slot) - blockStart;
      int stop = start(slot + 1) - blockStart;
      int end = stop;
      while (end > start && block[end - 1] != '/') end--;
      if (end < stop && (block[end] == '_' || block[end] == '.')) end = stop;
      if (size(slot) == 0) {
        empty.putIfAbsent(ByteBuffer.wrap(Arrays.copyOfRange(block, start, end)), new Integer(slot));
        continue;
      }
      if (folder == null || !Arrays.equals(folder, 0, folder.length, block, start, end)) {
        folder = Arrays.copyOfRange(block, start, end);
        inside = (IntBuffer) folders.get(ByteBuffer.wrap(folder));
      }
      if (inside == null || !inside.hasRemaining()) folders.put(ByteBuffer.wrap(folder), inside = larger(inside));
      inside.put(slot);
    }
    empty.keySet().removeAll(folders.keySet());
    int[][] result = new int[folders.size() + empty.size()][];
    java.util.Iterator all = folders.values().iterator();
    java.util.Iterator others = empty.values().iterator();
    for (int i = 0; i < result.length; i++) {
      IntBuffer filled = all.hasNext() ? (IntBuffer) all.next() : null;
      result[i] = filled == null ? new int[] {((Integer) others.next()).intValue()} : Arrays.copyOf(filled.array(), filled.position());
    }
    return result;
  }

  private static IntBuffer larger(IntBuffer full) {
    IntBuffer result = IntBuffer.allocate(full == null ? 4 : 2 * full.capacity());
    if (full != null) result.put(full.array());
    return result;
  }

  private synchronized int[] table() {
    if (table != null) return table;
    int[] made = new int[Integer.highestOneBit(Math.max(count, 1)) * 4]; // at most half of it is taken
    for (int slot = 0; slot < count; slot++) {
      int at = hash(path(slot), sizes.getLong(8 * slot), times.getLong(8 * slot)) & (made.length - 1);
      while (made[at] != 0) at = (at + 1) & (made.length - 1);
      made[at] = slot + 1;
    }
    return table = made;
  }

  private static int hash(byte[] path, long size, long modificationTime) {
    int seed = Long.hashCode(size * 31 + modificationTime);
    return Murmur3_x86_32.hashUnsafeBytes(path, Platform.BYTE_ARRAY_OFFSET, path.length, seed);
  }

  private int start(int slot) {
    return (int) starts.getLong(8 * slot);
  }

  private byte[] path(int slot) {
    return bytes(start(slot), start(slot + 1));
  }

  private byte[] bytes(int start, int end) {
    byte[] found = new byte[end - start];
    paths.get(start, found); // by position: any thread may ask
    return found;
  }
}
