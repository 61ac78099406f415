package data_skip;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * The files of the last version of an index, in place of a listing: the contracts `snapshot` and `bounded`. The file system is asked only for the files that
 * are read: one that has changed since is read as it is, one that is gone is an error.
 *
 * What the folders say of partitions, and which of them a predicate leaves, Spark finds itself, of one file of each folder.
 */
public final class SnapshotFileIndex implements FileIndex {
  private static final int AT_ONCE = 16; // files of an object store that are asked for
  private static final String IGNORE_MISSING = "ignoreMissingFiles";

  private final SparkSession session;
  private final Path root;
  private final String uri;
  private final scala.collection.immutable.Map parameters;
  private final String contract;
  private final BiFunction python;
  private final StructType partitionSchema;
  private volatile Version last;

  /** @param schema of the user, by which the values of partitions are read. contract: `snapshot`, or `bounded(60)`. */
  public SnapshotFileIndex(
      SparkSession session, String root, String contract, scala.collection.immutable.Map parameters, scala.Option schema, BiFunction python) {
    this.session = session;
    this.uri = root;
    this.contract = contract;
    this.root = path(root);
    this.parameters = parameters;
    this.python = python;
    this.partitionSchema = current(schema).folders.partitionSchema();
  }

  private static Path path(String uri) {
    return new Path(java.net.URI.create(uri));
  }

  /** Python asks before it hands over the files of a snapshot. */
  public boolean knows(String snapshot) {
    return KnownFiles.get(snapshot) != null;
  }

  public void know(String snapshot, String file) throws IOException {
    KnownFiles.put(snapshot, uri, file);
  }

  /** One version of the index: of each folder its files. */
  private final class Version {
    private final String id;
    private final String number;
    private final KnownFiles known;
    private final int[][] files; // by folder
    private final Map folderOfFirst = new HashMap(); // by the path of the file that stands for it
    private final InMemoryFileIndex folders;
    private long bytes = 0;

    private Version(String id, String number, KnownFiles known, scala.Option schema) {
      this.id = id;
      this.number = number;
      this.known = known;
      this.files = known.byFolder();
      FileStatus[] standing = new FileStatus[files.length];
      for (int i = 0; i < files.length; i++) {
        Path first = path(known.uri(files[i][0]));
        standing[i] = new FileStatus(1, false, 1, 1, 0, first);
        folderOfFirst.put(first, new Integer(i));
        for (int j = 0; j < files[i].length; j++) bytes += known.size(files[i][j]);
      }
      List roots = new ArrayList();
      roots.add(root);
      scala.Option none = scala.Option.apply(null);
      folders = new InMemoryFileIndex(session, Plans.seq(roots), parameters, schema, new Listed(standing), none, none);
    }
  }

  /** For Spark: what it would find in a folder. */
  public static final class Listed extends FileStatusCache {
    private final FileStatus[] files;

    public Listed(FileStatus[] files) {
      this.files = files;
    }

    public scala.Option getLeafFiles(Path path) {
      return scala.Option.apply(files);
    }

    public void putLeafFiles(Path path, FileStatus[] files) {}

    public void invalidateAll() {}
  }

  private Version current(scala.Option schema) {
    Connection.answersAtOnce();
    String said = (String) python.apply("snapshot\n" + uri + "\n" + contract, this);
    if (said == null) said = "\ndata-skip was disabled in this session";
    String[] parts = said.split("\n", 2);
    if (parts[0].isEmpty()) {
      throw new IllegalStateException("the files of " + uri + " are those of its index, which cannot be read: " + parts[1]
          + "; read the table without freshness='" + contract + "'");
    }
    Version known = last;
    if (known != null && known.id.equals(parts[0])) return known;
    last = new Version(parts[0], parts[1], KnownFiles.get(parts[0]), schema);
    return last;
  }

  /** The files of the index's last version, in the partitions that some predicates leave. */
  public ListedFiles files(scala.collection.immutable.Seq partitionFilters) {
    Version version = current(scala.Option.apply(partitionSchema));
    return new Files(version, version.folders.listFiles(partitionFilters, Plans.noFilters()));
  }

  private final class Files implements ListedFiles {
    private final Version version;
    private final List values = new ArrayList();
    private final int[] ends;
    private final int[] slots; // of each place

    private Files(Version version, scala.collection.immutable.Seq directories) {
      this.version = version;
      this.ends = new int[directories.size()];
      List folders = new ArrayList();
      int count = 0;
      for (int d = 0; d < ends.length; d++) {
        PartitionDirectory directory = (PartitionDirectory) directories.apply(d);
        values.add(directory.values());
        for (int i = 0; i < directory.files().size(); i++) {
          Object first = ((FileStatusWithMetadata) directory.files().apply(i)).getPath();
          int[] inside = version.files[((Integer) version.folderOfFirst.get(first)).intValue()];
          folders.add(inside);
          count += inside.length;
        }
        ends[d] = count;
      }
      slots = new int[count];
      int next = 0;
      for (int i = 0; i < folders.size(); i++) {
        int[] inside = (int[]) folders.get(i);
        System.arraycopy(inside, 0, slots, next, inside.length);
        next += inside.length;
      }
    }

    public int count() {
      return slots.length;
    }

    public int directories() {
      return ends.length;
    }

    public InternalRow values(int directory) {
      return (InternalRow) values.get(directory);
    }

    public int end(int directory) {
      return ends[directory];
    }

    public Path path(int i) {
      return SnapshotFileIndex.path(version.known.uri(slots[i]));
    }

    public long size(int i) {
      return version.known.size(slots[i]);
    }

    public long modificationTime(int i) {
      return version.known.modificationTime(slots[i]);
    }

    public int slot(int i, KnownFiles known) {
      return known == version.known ? slots[i] : known.slot(version.known.uri(slots[i]), size(i), modificationTime(i));
    }

    public boolean holds(int i, Freshness freshness) {
      return true;
    }

    public FileStatusWithMetadata[] read(int[] chosen) throws IOException {
      List paths = new ArrayList();
      for (int i = 0; i < chosen.length; i++) paths.add(path(chosen[i]));
      List found = new ArrayList();
      FileStatus[] now = asTheyAre(paths);
      for (int i = 0; i < now.length; i++) {
        if (now[i] == null && !ignoresMissing()) {
          throw new FileNotFoundException(paths.get(i) + " is gone, and stands in version " + version.number + " of the index of " + uri
              + ": Table.refresh() brings that up to date");
        }
        if (now[i] != null && now[i].getLen() > 0) found.add(new FileStatusWithMetadata(now[i], scala.collection.immutable.Map$.MODULE$.empty()));
      }
      return (FileStatusWithMetadata[]) found.toArray(new FileStatusWithMetadata[0]);
    }

    public String contract() {
      return contract + " " + version.number;
    }
  }

  private boolean ignoresMissing() {
    scala.Option option = parameters.get(IGNORE_MISSING); // in any letters: Spark keeps options so
    if (option.isDefined()) return Boolean.parseBoolean((String) option.get());
    return session.sessionState().conf().ignoreMissingFiles();
  }

  /** The files at some paths; null for one that is gone. */
  private FileStatus[] asTheyAre(List paths) throws IOException {
    final Configuration configuration = session.sessionState().newHadoopConfWithOptions(parameters);
    final FileStatus[] found = new FileStatus[paths.size()];
    boolean local = "file".equals(root.toUri().getScheme());
    ExecutorService threads = local || found.length < 2 ? null : Executors.newFixedThreadPool(Math.min(AT_ONCE, found.length));
    try {
      List asked = new ArrayList();
      for (int i = 0; i < found.length; i++) {
        final int place = i;
        final Path path = (Path) paths.get(i);
        Callable ask = new Callable() {
          public Object call() throws IOException {
            try {
              found[place] = path.getFileSystem(configuration).getFileStatus(path);
            } catch (FileNotFoundException gone) {
              found[place] = null;
            }
            return null;
          }
        };
        if (threads == null) ask.call();
        else asked.add(threads.submit(ask));
      }
      for (int i = 0; i < asked.size(); i++) ((Future) asked.get(i)).get();
    } catch (java.util.concurrent.ExecutionException e) {
      Platform.throwException(e.getCause());
    } catch (Exception e) {
      Platform.throwException(e);
    } finally {
      if (threads != null) threads.shutdownNow();
    }
    return found;
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    return new Listing(this, session, files(partitionFilters)).kept();
  }

  public scala.collection.immutable.Seq rootPaths() {
    List paths = new ArrayList();
    paths.add(new ExplainedPath(root, this));
    return Plans.seq(paths);
  }

  public String[] inputFiles() {
    ListedFiles files = files(Plans.noFilters());
    String[] result = new String[files.count()];
    for (int i = 0; i < result.length; i++) result[i] = files.path(i).toUri().toString();
    return result;
  }

  /** Nothing is kept from one query to the next: the index is asked each time. */
  public void refresh() {}

  /** As of the version that was read last: Spark asks for it while it optimises. */
  public long sizeInBytes() {
    return last.bytes;
  }

  public StructType partitionSchema() {
    return partitionSchema;
  }

  public scala.Option metadataOpsTimeNs() {
    return scala.Option.apply(null);
  }

  public String toString() {
    return contract + ": the files of version " + last.number + " of the index";
  }

  /** Two scans of one table may share a result: each would read the files of the last version. */
  public boolean equals(Object other) {
    if (!(other instanceof SnapshotFileIndex)) return false;
    SnapshotFileIndex that = (SnapshotFileIndex) other;
    boolean same = uri.equals(that.uri) && contract.equals(that.contract) && python == that.python && session == that.session;
    return same && partitionSchema.equals(that.partitionSchema) && parameters.equals(that.parameters);
  }

  public int hashCode() {
    return uri.hashCode();
  }
}
