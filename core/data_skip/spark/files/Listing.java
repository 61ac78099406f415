package data_skip;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/** One listing of the files of a scan, in bulk, for Python. */
public final class Listing {
  private static final int MOST_FOLDERS = 1000; // of an object store, that are listed from here: more Spark lists by tasks

  private Object scan; // null once it is let go of
  private FileIndex location; // as above
  private Object trees;
  private final SparkSession session;
  private ListedFiles files;
  private final Map listed = new HashMap(); // ListedVersions by their snapshots
  private byte[] keep;
  private EvaluationJob job; // that Python has handed over; null: none
  private final BitSet steady = new BitSet(); // files that give the same rows, however they are cut into parts

  /** scan: an AskedScan, for Python to ask; null: it asks nothing. location: the FileIndex that gave these files. */
  public Listing(Object scan, FileIndex location, SparkSession session, ListedFiles files) {
    this.scan = scan;
    this.location = location;
    this.session = session;
    this.files = files;
    this.keep = new byte[files.count()];
    keepAll();
  }

  /** The AskedScan; once it is let go of, what was kept of it. */
  public Object scan() {
    Connection.answersAtOnce(); // what a callback asks first
    return scan == null ? trees : scan;
  }

  public SparkSession session() {
    return session;
  }

  /** A job to be run before Python is asked again, for so many seconds at most. known: what it is then told, beside what tasks have found. */
  public void handOver(JavaRDD found, double seconds, String known) {
    job = new EvaluationJob(found, seconds, known);
  }

  /** The job that was handed over; null: none. */
  public EvaluationJob job() {
    return job;
  }

  /** Lets go of the files, of which nothing can be asked any more: what Python keeps for a report may live for long. rest: of the scan. */
  public void forget(Object rest) {
    scan = null;
    location = null;
    trees = rest;
    files = new ListedFiles.BySpark(Plans.noFilters());
    job = null;
    keep = new byte[0];
    listed.clear();
  }

  /** The paths of some files as `_metadata.file_path` has them, a line each: as all that goes to Python a Connection.text. */
  public String paths(int start, int end) {
    StringBuilder text = new StringBuilder();
    for (int i = start; i < end; i++) {
      if (i > start) text.append('\n');
      text.append(Plans.uri(files.path(i)));
    }
    return Connection.text(text.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  /** Size and modification time (ms) of each file, as big-endian longs. */
  public String identities() {
    ByteBuffer buffer = ByteBuffer.allocate(16 * files.count());
    for (int i = 0; i < files.count(); i++) buffer.putLong(files.size(i)).putLong(files.modificationTime(i));
    return Connection.text(buffer.array());
  }

  public int count() {
    return files.count();
  }

  public long bytes() {
    long total = 0;
    for (int i = 0; i < files.count(); i++) total += files.size(i);
    return total;
  }

  /** As ListedFiles.contract. */
  public String contract() {
    return files.contract();
  }

  /** A bit for each file version of a snapshot, the lowest first: whether it is listed. null where the snapshot is not known here. */
  public String present(String snapshot) {
    KnownFiles known = KnownFiles.get(snapshot);
    return known == null ? null : present(snapshot, known);
  }

  /** As `present`, of a snapshot whose file versions are in a file. after: as of KnownFiles.put. */
  public String present(String snapshot, String root, String versions, String after) throws java.io.IOException {
    KnownFiles known = KnownFiles.put(snapshot, root, versions, after);
    return known == null ? null : present(snapshot, known);
  }

  /** What `present` says of the last snapshot of a table, by that snapshot; nothing where none is known here, or one of very many files. */
  public Map presentOf(String root) {
    String snapshot = KnownFiles.last(root);
    Map found = new HashMap();
    if (snapshot != null) found.put(snapshot, present(snapshot));
    return found;
  }

  private String present(String snapshot, KnownFiles known) {
    ListedVersions versions = new ListedVersions(known);
    listed.put(snapshot, versions);
    return Connection.text(versions.bits());
  }

  /** The listed file versions of a snapshot that `present` was asked of. */
  public ListedVersions versions(String snapshot) {
    return (ListedVersions) listed.get(snapshot);
  }

  /** As ListedVersions.skip. */
  public String skip(String snapshot, byte[] versions) throws java.io.IOException {
    return Connection.text(versions(snapshot).skip(versions));
  }

  /**
   * As `skip`, of several snapshots; each told as its id, a space, and the bits as a Connection.text. False where it cannot be done so, or a
   * file has changed since it was listed: then nothing is skipped.
   */
  public boolean skipAll(String[] told) {
    boolean done = true;
    try {
      for (int i = 0; i < told.length && done; i++) {
        int end = told[i].lastIndexOf(' ');
        if (end < 0) continue;
        byte[] changed = versions(told[i].substring(0, end)).skip(Base64.getDecoder().decode(told[i].substring(end + 1)));
        done = changed.length == 0;
      }
    } catch (Exception unknown) {
      done = false;
    }
    if (!done) keepAll();
    return done;
  }

  /** The value of a partition column in each directory, as TreeEncoder encodes literals: a JSON array. */
  public String partitionValues(String column) {
    int field = location.partitionSchema().fieldIndex(column);
    DataType type = location.partitionSchema().fields()[field].dataType();
    List result = new ArrayList();
    for (int d = 0; d < files.directories(); d++) {
      InternalRow values = files.values(d);
      result.add(TreeEncoder.value(values.isNullAt(field) ? null : values.get(field, type), type));
    }
    return Plans.json(result);
  }

  /** Takes back what was skipped. */
  public void keepAll() {
    Arrays.fill(keep, (byte) 1);
  }

  /** How many files are to be read. */
  public int countKept() {
    int count = 0;
    for (int i = 0; i < keep.length; i++) count += keep[i];
    return count;
  }

  /** A byte a file: 1 where it is to be read. */
  public String keep() {
    return Connection.text(keep);
  }

  public void keepOnly(byte[] chosen) {
    System.arraycopy(chosen, 0, keep, 0, keep.length);
  }

  /** The file versions that are not to be read. */
  public Set skipped() {
    Set result = new HashSet();
    for (int i = 0; i < keep.length; i++) if (keep[i] == 0) result.add(version(i));
    return result;
  }

  /** All but these file versions are to be read. */
  public void skipOnly(Set versions) {
    for (int i = 0; i < keep.length; i++) keep[i] = (byte) (versions.contains(version(i)) ? 0 : 1);
  }

  private Object version(int i) {
    return Arrays.asList(new Object[] {files.path(i), new Long(files.size(i)), new Long(files.modificationTime(i))});
  }

  /** A byte a file: 1 where it is one of those chosen, and has not changed since it was listed. null for so many folders that Spark lists faster. */
  public String unchanged(byte[] chosen) throws java.io.IOException {
    int[] places = new int[chosen.length];
    BitSet asked = new BitSet();
    Set folders = new HashSet();
    for (int i = 0; i < chosen.length; i++) {
      places[i] = i;
      if (chosen[i] == 0) continue;
      asked.set(i);
      if (files.folderToLookAt(i) != null && folders.add(files.folderToLookAt(i)) && folders.size() > MOST_FOLDERS) return null;
    }
    Freshness freshness = look(places, asked);
    byte[] result = new byte[chosen.length];
    for (int i = asked.nextSetBit(0); i >= 0; i = asked.nextSetBit(i + 1)) result[i] = (byte) (files.holds(i, freshness) ? 1 : 0);
    return Connection.text(result);
  }

  /** What is seen of the folders of some files now. slots: of each file its number, or -1; chosen: of these the numbers. */
  private Freshness look(int[] slots, BitSet chosen) throws java.io.IOException {
    Freshness freshness = new Freshness(session);
    Set named = new HashSet(scala.jdk.javaapi.CollectionConverters.asJava(location.rootPaths()));
    List folders = new ArrayList();
    List single = new ArrayList();
    for (int i = 0; i < slots.length; i++) {
      Path folder = slots[i] < 0 || !chosen.get(slots[i]) ? null : files.folderToLookAt(i);
      if (folder == null) continue;
      if (named.contains(files.path(i))) single.add(files.path(i));
      else folders.add(folder);
    }
    freshness.look(folders, single);
    return freshness;
  }

  /** The paths of files of more than some bytes that are to be read, and may give other rows where they are cut into other parts. */
  public List unsteady(long bytes) {
    List result = new ArrayList();
    for (int i = 0; i < keep.length; i++) {
      boolean sure = steady.get(i) && !files.isChanged(i);
      if (keep[i] == 1 && !sure && files.listed(i).getLen() > bytes) result.add(files.path(i));
    }
    return result;
  }

  /** The directories with all files. */
  public scala.collection.immutable.Seq directories() {
    byte[] all = new byte[keep.length];
    Arrays.fill(all, (byte) 1);
    return directories(all);
  }

  /** As `directories`, as far as files are known: for their sizes. */
  public scala.collection.immutable.Seq listed() {
    List result = new ArrayList();
    for (int d = 0, i = 0; d < files.directories(); d++) {
      List inside = new ArrayList();
      for (; i < files.end(d); i++) inside.add(files.listed(i));
      result.add(new PartitionDirectory(files.values(d), Plans.seq(inside)));
    }
    return Plans.seq(result);
  }

  /** The directories with only those files that are to be read. */
  public scala.collection.immutable.Seq kept() {
    return directories(keep);
  }

  private scala.collection.immutable.Seq directories(byte[] chosen) {
    List result = new ArrayList();
    int start = 0;
    for (int d = 0; d < files.directories(); start = files.end(d++)) {
      FileStatusWithMetadata[] inside = read(start, files.end(d), chosen);
      if (inside.length > 0) result.add(new PartitionDirectory(files.values(d), Plans.seq(Arrays.asList(inside))));
    }
    return Plans.seq(result);
  }

  private FileStatusWithMetadata[] read(int start, int end, byte[] chosen) {
    int[] places = new int[end - start];
    int count = 0;
    for (int i = start; i < end; i++) if (chosen[i] == 1) places[count++] = i;
    try {
      return files.read(Arrays.copyOf(places, count));
    } catch (java.io.IOException e) {
      Platform.throwException(e);
      return null;
    }
  }

  /** As `kept`, a directory for each file, with one value more than its partition has: the file's place in the listing. */
  public scala.collection.immutable.Seq numbered() {
    List result = new ArrayList();
    for (int d = 0, i = 0; d < files.directories(); d++) {
      for (; i < files.end(d); i++) {
        if (keep[i] == 0) continue;
        List inside = Arrays.asList(read(i, i + 1, keep));
        result.add(new PartitionDirectory(numbered(files.values(d), i), Plans.seq(inside)));
      }
    }
    return Plans.seq(result);
  }

  private InternalRow numbered(InternalRow values, int number) {
    StructType schema = location.partitionSchema();
    Object[] all = new Object[schema.length() + 1];
    for (int i = 0; i < schema.length(); i++) all[i] = values.isNullAt(i) ? null : values.get(i, schema.fields()[i].dataType());
    all[schema.length()] = new Integer(number);
    return new GenericInternalRow(all);
  }

  /** Which file versions of one snapshot are listed. */
  public final class ListedVersions {
    private final int[] slots; // of each listed file its place in the snapshot, -1 where it has none

    private ListedVersions(KnownFiles known) {
      this.slots = new int[files.count()];
      for (int i = 0; i < slots.length; i++) slots[i] = files.slot(i, known);
    }

    /** A bit for each file version of the snapshot, the lowest first: whether it is listed. */
    public byte[] bits() {
      BitSet bits = new BitSet();
      for (int i = 0; i < slots.length; i++) if (slots[i] >= 0) bits.set(slots[i]);
      return bits.toByteArray();
    }

    /**
     * For each of the `count` file versions of the snapshot the number of its directory; big-endian ints. -1 where it is not listed, or
     * listed more than once: two partitions at one location are two directories with the same files.
     */
    public String directories(int count) {
      int[] result = new int[count];
      BitSet again = new BitSet();
      Arrays.fill(result, -1);
      for (int d = 0, next = 0; d < files.directories(); d++) {
        for (; next < files.end(d); next++) {
          if (slots[next] < 0) continue;
          if (result[slots[next]] >= 0) again.set(slots[next]);
          result[slots[next]] = d;
        }
      }
      for (int slot = again.nextSetBit(0); slot >= 0; slot = again.nextSetBit(slot + 1)) result[slot] = -1;
      ByteBuffer buffer = ByteBuffer.allocate(4 * count);
      buffer.asIntBuffer().put(result);
      return Connection.text(buffer.array());
    }

    /** Notes that the listed files whose bit is set give the same rows, however they are cut into parts. */
    public void steady(byte[] versions) {
      BitSet found = BitSet.valueOf(versions);
      for (int i = 0; i < slots.length; i++) if (slots[i] >= 0 && found.get(slots[i])) steady.set(i);
    }

    /** Takes away the listed files whose bit is set, unless they have changed since they were listed. Returns the bits of those that have. */
    public byte[] skip(byte[] versions) throws java.io.IOException {
      BitSet skipped = BitSet.valueOf(versions);
      BitSet changed = new BitSet();
      Freshness freshness = look(slots, skipped);
      for (int i = 0; i < slots.length; i++) {
        if (slots[i] < 0 || !skipped.get(slots[i])) continue;
        if (files.holds(i, freshness)) keep[i] = 0; else changed.set(slots[i]);
      }
      return changed.toByteArray();
    }
  }
}
