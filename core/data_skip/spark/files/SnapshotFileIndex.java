package data_skip;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceConstantMetadataAttribute$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * The files of the last version of an index, in place of a listing: the contracts `snapshot` and `bounded`. The file system is asked only
 * for the files that are read: one that has changed since is read as it is, one that is gone is an error.
 *
 * What the folders say of partitions, and which of them a predicate leaves, Spark finds itself, of one file of each folder.
 */
public final class SnapshotFileIndex implements FileIndex {
  private static final int AT_ONCE = 16; // files of an object store that are asked for
  private static final int TRIES = 20; // to be handed a snapshot that those of other tables may push out at once
  private static final String IGNORE_MISSING = "ignoreMissingFiles";
  private static final String TIME_ZONE = "timeZone";

  private final SparkSession session;
  private final Path root;
  private final String uri;
  private final scala.collection.immutable.Map parameters;
  private final String contract;
  private final scala.collection.immutable.Map asMade; // with the time zone by which folders tell times, whatever the session's is later
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
    String zone = session.sessionState().conf().sessionLocalTimeZone();
    this.asMade = parameters.contains(TIME_ZONE) ? parameters : (scala.collection.immutable.Map) parameters.updated(TIME_ZONE, zone);
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
      folders = new InMemoryFileIndex(session, Plans.seq(roots), asMade, schema, new Listed(standing), none, none);
      if (partitionSchema == null || files.length == 0 || folders.partitionSchema().equals(partitionSchema)) return;
      throw new IllegalStateException("the folders of " + uri + " have the partition columns " + folders.partitionSchema().simpleString()
          + " by version " + number + " of its index, and had " + partitionSchema.simpleString() + " when it was read; read it anew");
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
    Named named = named();
    Version version = last;
    if (version != null && version.id.equals(named.id)) return version;
    version = new Version(named.id, named.number, named.known, schema);
    last = version;
    return version;
  }

  /** What Python calls a snapshot, and its files. */
  private static final class Named {
    private final String id;
    private final String number;
    private final KnownFiles known;

    private Named(String id, String number, KnownFiles known) {
      this.id = id;
      this.number = number;
      this.known = known;
    }
  }

  /** The last version of the index; all scans of a query are given the same one, whatever is refreshed meanwhile. */
  private Named named() {
    String query = session.sparkContext().getLocalProperty("spark.sql.execution.id");
    String key = query + " " + System.identityHashCode(session) + " " + contract + " " + uri;
    Object pinned = query == null ? null : KnownFiles.pinned(key);
    if (pinned != null) return (Named) pinned;
    Named named = asked();
    return query == null ? named : (Named) KnownFiles.pin(key, named);
  }

  private Named asked() {
    for (int i = 0; i < TRIES; i++) {
      Connection.answersAtOnce();
      String said = (String) python.apply("snapshot\n" + uri + "\n" + contract, this);
      if (said == null) said = "\ndata-skip was disabled in this session";
      String[] parts = said.split("\n", 2);
      if (parts[0].isEmpty()) {
        throw new IllegalStateException("the files of " + uri + " are those of its index, which cannot be read: " + parts[1]
            + "; read the table without freshness='" + contract + "'");
      }
      KnownFiles known = KnownFiles.get(parts[0]);
      if (known != null) return new Named(parts[0], parts[1], known);
    }
    throw new IllegalStateException("the files of " + uri + " are those of its index, of which too many are read at once; run the query again");
  }

  /** The files of the index's last version, in the partitions that some predicates leave, and of the names that others do. */
  public ListedFiles files(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    Version version = current(scala.Option.apply(partitionSchema));
    Files all = new Files(version, version.folders.listFiles(partitionFilters, Plans.noFilters()));
    List named = new ArrayList();
    for (int i = 0; i < dataFilters.size(); i++) if (onNamesOnly((Expression) dataFilters.apply(i))) named.add(dataFilters.apply(i));
    return named.isEmpty() ? all : all.only(Plans.seq(named));
  }

  /** Of what `_metadata` says of a file that has changed since, its name alone is as in the snapshot. */
  private static boolean onNamesOnly(Expression filter) {
    scala.collection.Iterator references = filter.references().iterator();
    boolean any = references.hasNext();
    while (references.hasNext()) {
      Attribute attribute = (Attribute) references.next();
      boolean name = attribute.name().equals("file_path") || attribute.name().equals("file_name");
      if (!name || !(attribute instanceof AttributeReference)) return false;
      if (FileSourceConstantMetadataAttribute$.MODULE$.unapply((AttributeReference) attribute).isEmpty()) return false;
    }
    return any;
  }

  private final class Files implements ListedFiles {
    private final Version version;
    private final List values;
    private final int[] ends;
    private final int[] slots; // of each place
    private final FileStatus[] asked; // of each place what the file system said, if it was asked

    private Files(Version version, List values, int[] ends, int[] slots) {
      this.version = version;
      this.values = values;
      this.ends = ends;
      this.slots = slots;
      this.asked = new FileStatus[slots.length];
    }

    private Files(Version version, scala.collection.immutable.Seq directories) {
      this.version = version;
      this.values = new ArrayList();
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
      asked = new FileStatus[count];
    }

    /** Those that Spark leaves by what some predicates say of `_metadata`. */
    private Files only(scala.collection.immutable.Seq filters) {
      FileStatus[] all = new FileStatus[slots.length];
      for (int i = 0; i < all.length; i++) all[i] = asIndexed(i);
      List roots = new ArrayList();
      roots.add(root);
      scala.Option none = scala.Option.apply(null);
      Object flat = asMade.updated("recursiveFileLookup", "true");
      InMemoryFileIndex index = new InMemoryFileIndex(
          session, Plans.seq(roots), (scala.collection.immutable.Map) flat, none, new Listed(all), none, none);
      scala.collection.immutable.Seq left = index.listFiles(Plans.noFilters(), filters);
      Set paths = new HashSet();
      for (int d = 0; d < left.size(); d++) {
        scala.collection.immutable.Seq inside = ((PartitionDirectory) left.apply(d)).files();
        for (int i = 0; i < inside.size(); i++) paths.add(((FileStatusWithMetadata) inside.apply(i)).getPath());
      }
      int[] kept = new int[slots.length];
      int[] keptEnds = new int[ends.length];
      int count = 0;
      for (int d = 0, i = 0; d < ends.length; d++) {
        for (; i < ends[d]; i++) if (paths.contains(all[i].getPath())) kept[count++] = slots[i];
        keptEnds[d] = count;
      }
      return new Files(version, values, keptEnds, Arrays.copyOf(kept, count));
    }

    private FileStatus asIndexed(int i) {
      return new FileStatus(size(i), false, 1, 1, modificationTime(i), path(i));
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

    public boolean isChanged(int i) {
      return asked[i] != null && (asked[i].getLen() != size(i) || asked[i].getModificationTime() != modificationTime(i));
    }

    public FileStatusWithMetadata[] read(int[] chosen) throws IOException {
      List paths = new ArrayList();
      List places = new ArrayList();
      for (int i = 0; i < chosen.length; i++) {
        if (asked[chosen[i]] != null) continue;
        places.add(new Integer(chosen[i]));
        paths.add(path(chosen[i]));
      }
      FileStatus[] now = asTheyAre(paths);
      for (int i = 0; i < now.length; i++) asked[((Integer) places.get(i)).intValue()] = now[i];
      List found = new ArrayList();
      Set seen = new HashSet(); // refreshes at one time may list two versions of a file that is there once
      for (int i = 0; i < chosen.length; i++) {
        FileStatus file = asked[chosen[i]];
        if (file == null && !ignoresMissing()) {
          throw new FileNotFoundException(path(chosen[i]) + " is gone, and stands in version " + version.number + " of the index of " + uri
              + ": Table.refresh() brings that up to date");
        }
        if (file != null && file.getLen() > 0 && seen.add(file.getPath())) found.add(withMetadata(file));
      }
      return (FileStatusWithMetadata[]) found.toArray(new FileStatusWithMetadata[0]);
    }

    public FileStatusWithMetadata listed(int i) {
      return withMetadata(asked[i] == null ? asIndexed(i) : asked[i]);
    }

    public String contract() {
      return contract + " " + version.number;
    }
  }

  private static FileStatusWithMetadata withMetadata(FileStatus file) {
    return new FileStatusWithMetadata(file, scala.collection.immutable.Map$.MODULE$.empty());
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
    return new Listing(this, session, files(partitionFilters, dataFilters)).kept();
  }

  public scala.collection.immutable.Seq rootPaths() {
    List paths = new ArrayList();
    paths.add(new ExplainedPath(root, this));
    return Plans.seq(paths);
  }

  public String[] inputFiles() {
    ListedFiles files = files(Plans.noFilters(), Plans.noFilters());
    String[] result = new String[files.count()];
    for (int i = 0; i < result.length; i++) {
      java.net.URI uri = files.path(i).toUri();
      result[i] = uri.getRawAuthority() == null ? uri.getScheme() + "://" + uri.getRawPath() : uri.toString(); // as of Spark's listings
    }
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

  /** Two scans of one `Table.read` may share a result: those of another are not given what was cached of this one. */
  public boolean equals(Object other) {
    if (!(other instanceof SnapshotFileIndex)) return false;
    SnapshotFileIndex that = (SnapshotFileIndex) other;
    boolean same = uri.equals(that.uri) && contract.equals(that.contract) && python == that.python && session == that.session;
    return same && partitionSchema.equals(that.partitionSchema) && asMade.equals(that.asMade);
  }

  public int hashCode() {
    return uri.hashCode();
  }
}
