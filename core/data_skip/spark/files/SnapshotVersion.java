package data_skip;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FileSourceOptions;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.HadoopFSUtils$;

/** One version of the index of a table: of each folder its files. */
public final class SnapshotVersion {
  private static final String OF_NAMES = "shouldFilterOutPathName"; // of Spark: what it leaves out
  private static final String OF_PATHS = "shouldFilterOutPath";
  private static final String LISTED_AT_ONCE = "spark.sql.sources.useListFilesFileSystemList";

  public final String id;
  public final String number;
  public final KnownFiles known;
  public final int[][] files; // by folder
  public final Map folderOfFirst = new HashMap(); // by the path of the file that stands for it
  public final InMemoryFileIndex folders; // null of a table whose partitions the catalog knows: see `partitions`
  public long bytes = 0;
  private final FileStatus[] standing; // of each folder the file that stands for it

  /** @param before the partition columns of an earlier one; null where this is the first. schema: by which folders are read, if the user gave one. */
  public SnapshotVersion(SnapshotTable table, StructType before, String id, String number, KnownFiles known, scala.Option schema) {
    this.id = id;
    this.number = number;
    this.known = known;
    this.files = table.catalog == null ? listed(known, table) : known.byFolder();
    this.standing = new FileStatus[files.length];
    for (int i = 0; i < files.length; i++) {
      Path first = SnapshotTable.path(known.uri(files[i][0]));
      standing[i] = new FileStatus(Math.min(1, known.size(files[i][0])), false, 1, 1, 0, first);
      folderOfFirst.put(first, new Integer(i));
      for (int j = 0; j < files[i].length; j++) bytes += known.size(files[i][j]);
    }
    if (table.catalog != null) {
      folders = null;
      return;
    }
    List roots = new ArrayList();
    roots.add(table.root);
    scala.Option none = scala.Option.apply(null);
    folders = new InMemoryFileIndex(table.session, Plans.seq(roots), table.asMade, schema, new Listed(standing), none, none);
    if (before == null || files.length == 0) return;
    String now;
    try {
      if (folders.partitionSchema().equals(before)) return;
      now = folders.partitionSchema().simpleString();
    } catch (RuntimeException other) { // they are read by the types of before
      now = "others (" + String.valueOf(other.getMessage()).split("\n")[0] + ")";
    }
    throw new IllegalStateException("the folders of " + table.uri + " have the partition columns " + now
        + " by version " + number + " of its index, and had " + before.simpleString() + " when it was read; read it anew");
  }

  /** Of the folders that Spark lists: in others there may be partitions that a catalog knows. */
  private static int[][] listed(KnownFiles known, SnapshotTable table) {
    List result = new ArrayList();
    int[][] all = known.byFolder();
    Map seen = new HashMap(); // by what is asked of a folder, whether Spark leaves it out
    boolean atOnce = isListedAtOnce(table);
    Method filter = filter(atOnce ? OF_PATHS : OF_NAMES);
    for (int i = 0; i < all.length; i++) {
      String path = known.uri(all[i][0]).substring(table.uri.length());
      String folder = path.substring(0, path.lastIndexOf('/') + 1);
      String[] names = atOnce ? new String[] {folder} : folder.split("/");
      boolean hidden = false;
      for (int j = 0; j < names.length; j++) {
        if (!seen.containsKey(names[j])) seen.put(names[j], Boolean.valueOf(isHidden(names[j], filter, table)));
        hidden |= ((Boolean) seen.get(names[j])).booleanValue();
      }
      if (!hidden) result.add(all[i]);
    }
    return (int[][]) result.toArray(new int[0][]);
  }

  /** Whether Spark asks a store for all that lies below a folder, as S3A, and then looks at paths (InMemoryFileIndex.bulkListLeafFiles). */
  private static boolean isListedAtOnce(SnapshotTable table) {
    try {
      String asked = table.session.sessionState().conf().getConfString(LISTED_AT_ONCE).toLowerCase(Locale.ROOT);
      String scheme = table.root.getFileSystem(table.session.sessionState().newHadoopConf()).getScheme();
      return Arrays.asList(asked.trim().split(" *, *")).contains(scheme);
    } catch (Exception unknown) { // then it does not
      return false;
    }
  }

  /** Whether Spark leaves out a folder, which it knows by itself up to 4.2, and is told by the options of a table from then on. */
  private static boolean isHidden(String folder, Method filter, SnapshotTable table) {
    if (filter == null) return false;
    try {
      Object[] told = filter.getParameterTypes().length == 1 ? new Object[] {folder} : new Object[] {folder, ignored(table)};
      return ((Boolean) filter.invoke(HadoopFSUtils$.MODULE$, told)).booleanValue();
    } catch (ReflectiveOperationException unknown) {
      return false;
    }
  }

  /** Spark's own; null where this Spark has none. */
  private static Method filter(String name) {
    Method[] methods = HadoopFSUtils$.class.getMethods();
    for (int i = 0; i < methods.length; i++) if (methods[i].getName().equals(name)) return methods[i];
    return null;
  }

  private static Object ignored(SnapshotTable table) throws ReflectiveOperationException {
    FileSourceOptions options = new FileSourceOptions(CaseInsensitiveMap$.MODULE$.apply(table.parameters));
    return FileSourceOptions.class.getMethod("ignoredPathSegmentRegexPattern", new Class[0]).invoke(options, new Object[0]);
  }

  /** The folders of a table that are partitions of it. */
  public InMemoryFileIndex partitions(SnapshotTable table, PartitionSpec spec) {
    Map inside = new HashMap();
    for (int i = 0; i < standing.length; i++) { // one of a folder, or several: a file stands for itself whose name may say that it is no data
      FileStatus[] others = (FileStatus[]) inside.get(standing[i].getPath().getParent());
      FileStatus[] all = others == null ? new FileStatus[1] : (FileStatus[]) Arrays.copyOf(others, others.length + 1);
      all[all.length - 1] = standing[i];
      inside.put(standing[i].getPath().getParent(), all);
    }
    List roots = new ArrayList();
    scala.collection.Iterator partitions = spec.partitions().iterator();
    while (partitions.hasNext()) roots.add(((PartitionPath) partitions.next()).path());
    scala.collection.immutable.Map nothing = scala.collection.immutable.Map$.MODULE$.empty();
    scala.Option columns = scala.Option.apply(spec.partitionColumns());
    scala.Option none = scala.Option.apply(null);
    return new InMemoryFileIndex(table.session, Plans.seq(roots), nothing, columns, new Listed(inside), scala.Option.apply(spec), none);
  }

  /** For Spark: what it would find in a folder. */
  public static final class Listed extends FileStatusCache {
    private final FileStatus[] files;
    private final Map inside; // by their folder, if not all are of the same

    public Listed(FileStatus[] files) {
      this.files = files;
      this.inside = null;
    }

    public Listed(Map inside) {
      this.files = new FileStatus[0];
      this.inside = inside;
    }

    public scala.Option getLeafFiles(Path path) {
      return scala.Option.apply(inside != null && inside.containsKey(path) ? (FileStatus[]) inside.get(path) : files);
    }

    public void putLeafFiles(Path path, FileStatus[] files) {}

    public void invalidateAll() {}
  }
}
