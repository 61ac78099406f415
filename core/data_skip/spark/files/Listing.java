package data_skip;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** One listing of the files of a scan, in bulk, for Python. */
public final class Listing {
  private FileIndex scan; // null once it is let go of
  private Object trees;
  private final SparkSession session;
  private scala.collection.immutable.Seq directories;
  private List files = new ArrayList();
  private final Map listed = new HashMap(); // ListedVersions by their snapshots
  private byte[] keep;
  private final BitSet steady = new BitSet(); // files that give the same rows, however they are cut into parts

  /** @param scan the FileIndex that gave these directories, for Python to ask. */
  public Listing(FileIndex scan, SparkSession session, scala.collection.immutable.Seq directories) {
    this.scan = scan;
    this.session = session;
    this.directories = directories;
    scala.collection.Iterator iterator = directories.iterator();
    while (iterator.hasNext()) {
      scala.collection.Iterator inside = ((PartitionDirectory) iterator.next()).files().iterator();
      while (inside.hasNext()) files.add(inside.next());
    }
    this.keep = new byte[files.size()];
    keepAll();
  }

  /** The FileIndex; once it is let go of, what was kept of it. */
  public Object scan() {
    Connection.answersAtOnce(); // what a callback asks first
    return scan == null ? trees : scan;
  }

  public SparkSession session() {
    return session;
  }

  /** Lets go of the files, of which nothing can be asked any more: what Python keeps for a report may live for long. rest: of the scan. */
  public void forget(Object rest) {
    scan = null;
    trees = rest;
    directories = Plans.seq(new ArrayList());
    files = new ArrayList();
    keep = new byte[0];
    listed.clear();
  }

  private FileStatusWithMetadata file(int i) {
    return (FileStatusWithMetadata) files.get(i);
  }

  /** The path of each file as `_metadata.file_path` has it, a line each. */
  public byte[] paths() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < files.size(); i++) {
      if (i > 0) text.append('\n');
      text.append(Plans.uri(file(i).getPath()));
    }
    return text.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  /** Size and modification time (ms) of each file, as big-endian longs. */
  public byte[] identities() {
    ByteBuffer buffer = ByteBuffer.allocate(16 * files.size());
    for (int i = 0; i < files.size(); i++) buffer.putLong(file(i).getLen()).putLong(file(i).getModificationTime());
    return buffer.array();
  }

  public int count() {
    return files.size();
  }

  public long bytes() {
    long total = 0;
    for (int i = 0; i < files.size(); i++) total += file(i).getLen();
    return total;
  }

  /** A bit for each file version of a snapshot, the lowest first: whether it is listed. null where the snapshot is not known here. */
  public byte[] present(String snapshot) {
    KnownFiles known = KnownFiles.get(snapshot);
    return known == null ? null : present(snapshot, known);
  }

  /** As `present`, of a snapshot whose file versions are in a file. */
  public byte[] present(String snapshot, String root, String versions) throws java.io.IOException {
    return present(snapshot, KnownFiles.put(snapshot, root, versions));
  }

  private byte[] present(String snapshot, KnownFiles known) {
    ListedVersions versions = new ListedVersions(known);
    listed.put(snapshot, versions);
    return versions.bits();
  }

  /** The listed file versions of a snapshot that `present` was asked of. */
  public ListedVersions versions(String snapshot) {
    return (ListedVersions) listed.get(snapshot);
  }

  /** As ListedVersions.skip. */
  public byte[] skip(String snapshot, byte[] versions) {
    return versions(snapshot).skip(versions);
  }

  /** The value of a partition column in each directory, as TreeEncoder encodes literals: a JSON array. */
  public String partitionValues(String column) {
    int field = scan.partitionSchema().fieldIndex(column);
    DataType type = scan.partitionSchema().fields()[field].dataType();
    List result = new ArrayList();
    scala.collection.Iterator iterator = directories.iterator();
    while (iterator.hasNext()) {
      InternalRow values = ((PartitionDirectory) iterator.next()).values();
      result.add(TreeEncoder.value(values.isNullAt(field) ? null : values.get(field, type), type));
    }
    return Plans.json(result);
  }

  /** Takes back what was skipped. */
  public void keepAll() {
    Arrays.fill(keep, (byte) 1);
  }

  /** A byte a file: 1 where it is to be read. */
  public byte[] keep() {
    return keep;
  }

  public void keepOnly(byte[] chosen) {
    System.arraycopy(chosen, 0, keep, 0, keep.length);
  }

  public scala.collection.immutable.Seq directories() {
    return directories;
  }

  /** The paths of files of more than some bytes that are to be read, and may give other rows where they are cut into other parts. */
  public List unsteady(long bytes) {
    List result = new ArrayList();
    for (int i = 0; i < keep.length; i++) {
      if (keep[i] == 1 && !steady.get(i) && file(i).getLen() > bytes) result.add(file(i).getPath());
    }
    return result;
  }

  /** The directories with only those files that are to be read. */
  public scala.collection.immutable.Seq kept() {
    List result = new ArrayList();
    int next = 0;
    scala.collection.Iterator iterator = directories.iterator();
    while (iterator.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) iterator.next();
      List inside = new ArrayList();
      for (int i = 0; i < directory.files().size(); i++) if (keep[next + i] == 1) inside.add(files.get(next + i));
      next += directory.files().size();
      if (!inside.isEmpty()) result.add(directory.copy(directory.values(), Plans.seq(inside)));
    }
    return Plans.seq(result);
  }

  /** As `kept`, a directory for each file, with one value more than its partition has: the file's place in the listing. */
  public scala.collection.immutable.Seq numbered() {
    List result = new ArrayList();
    int next = 0;
    scala.collection.Iterator iterator = directories.iterator();
    while (iterator.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) iterator.next();
      for (int end = next + directory.files().size(); next < end; next++) {
        if (keep[next] == 0) continue;
        List inside = new ArrayList();
        inside.add(files.get(next));
        result.add(directory.copy(numbered(directory.values(), next), Plans.seq(inside)));
      }
    }
    return Plans.seq(result);
  }

  private InternalRow numbered(InternalRow values, int number) {
    StructType schema = scan.partitionSchema();
    Object[] all = new Object[schema.length() + 1];
    for (int i = 0; i < schema.length(); i++) all[i] = values.isNullAt(i) ? null : values.get(i, schema.fields()[i].dataType());
    all[schema.length()] = new Integer(number);
    return new GenericInternalRow(all);
  }

  /** Which file versions of one snapshot are listed. */
  public final class ListedVersions {
    private final int[] slots; // of each listed file its place in the snapshot, -1 where it has none

    private ListedVersions(KnownFiles known) {
      this.slots = new int[files.size()];
      for (int i = 0; i < slots.length; i++) {
        slots[i] = known.slot(Plans.uri(file(i).getPath()), file(i).getLen(), file(i).getModificationTime());
      }
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
    public byte[] directories(int count) {
      int[] result = new int[count];
      BitSet again = new BitSet();
      Arrays.fill(result, -1);
      int next = 0;
      for (int d = 0; d < directories.size(); d++) {
        for (int end = next + ((PartitionDirectory) directories.apply(d)).files().size(); next < end; next++) {
          if (slots[next] < 0) continue;
          if (result[slots[next]] >= 0) again.set(slots[next]);
          result[slots[next]] = d;
        }
      }
      for (int slot = again.nextSetBit(0); slot >= 0; slot = again.nextSetBit(slot + 1)) result[slot] = -1;
      ByteBuffer buffer = ByteBuffer.allocate(4 * count);
      buffer.asIntBuffer().put(result);
      return buffer.array();
    }

    /** Notes that the listed files whose bit is set give the same rows, however they are cut into parts. */
    public void steady(byte[] versions) {
      BitSet found = BitSet.valueOf(versions);
      for (int i = 0; i < slots.length; i++) if (slots[i] >= 0 && found.get(slots[i])) steady.set(i);
    }

    /** Takes away the listed files whose bit is set, unless they have changed since they were listed. Returns the bits of those that have. */
    public byte[] skip(byte[] versions) {
      BitSet skipped = BitSet.valueOf(versions);
      BitSet changed = new BitSet();
      Freshness freshness = new Freshness(session);
      for (int i = 0; i < slots.length; i++) {
        if (slots[i] < 0 || !skipped.get(slots[i])) continue;
        if (freshness.holds(file(i))) keep[i] = 0; else changed.set(slots[i]);
      }
      return changed.toByteArray();
    }
  }
}
