package data_skip;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceConstantMetadataAttribute$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;

/**
 * The files of the last version of an index, in place of a listing: the contracts `snapshot` and `bounded`. The file system is asked only
 * for the files that are read: one that has changed since is read as it is, one that is gone is an error.
 *
 * What the folders say of partitions, and which of them a predicate leaves, Spark finds itself, of one file of each folder.
 */
public final class SnapshotFileIndex implements FileIndex {
  private static final int TRIES = 20; // to be handed a snapshot that those of other tables may push out at once

  private static volatile boolean used = false; // whether any was made: else no plan is looked through for one

  private final SnapshotTable table;
  private final BiFunction python;
  private final StructType partitionSchema;
  private final Map given; // to the query that it stands in, where that is no execution of Spark's, as of `rdd`; null in others
  private final Set left; // the folders of partitions that Spark's optimizer has left of those that a catalog knows; null: all
  private volatile SnapshotVersion last;

  /** @param schema of the user, by which the values of partitions are read. */
  public SnapshotFileIndex(SnapshotTable table, scala.Option schema, BiFunction python) {
    this.table = table;
    this.python = python;
    this.given = null;
    this.left = null;
    used = true;
    this.partitionSchema = current(schema).folders.partitionSchema();
  }

  /** Of a scan that Spark has made of a listing: partitionSchema is what that has found. */
  public SnapshotFileIndex(SnapshotTable table, StructType partitionSchema, BiFunction python) {
    this.table = table;
    this.python = python;
    this.given = null;
    this.left = null;
    used = true;
    this.partitionSchema = partitionSchema;
    look();
  }

  private SnapshotFileIndex(SnapshotFileIndex other, Map given, Set left) {
    this.table = other.table;
    this.python = other.python;
    this.partitionSchema = other.partitionSchema;
    this.last = other.last;
    this.given = given;
    this.left = left;
  }

  /** The same, of which no others are told as input files than those of some partitions: others may lie where the index tells of nothing. */
  public SnapshotFileIndex leaving(Collection partitions) {
    return new SnapshotFileIndex(this, given, new HashSet(partitions));
  }

  /** A plan, if it is optimised outside of Spark's executions, with the files of all its scans of a table as of one version. */
  public static LogicalPlan ofOneVersion(LogicalPlan plan) {
    if (!used) return plan;
    final Map[] given = new Map[1];
    return Plans.withNodes(plan, new Function() {
      public Object apply(Object node) {
        SnapshotFileIndex files = of(node);
        if (files == null) return null;
        if (given[0] == null) given[0] = files.given == null ? new ConcurrentHashMap() : files.given;
        return files.given == given[0] ? null : Relations.withLocation((LogicalRelation) node, new SnapshotFileIndex(files, given[0], files.left));
      }
    });
  }

  private static SnapshotFileIndex of(Object node) {
    if (!(node instanceof LogicalRelation) || !(((LogicalRelation) node).relation() instanceof HadoopFsRelation)) return null;
    FileIndex location = ((HadoopFsRelation) ((LogicalRelation) node).relation()).location();
    return location instanceof SnapshotFileIndex && ((SnapshotFileIndex) location).query() == null ? (SnapshotFileIndex) location : null;
  }

  /** Looks at the last version. IllegalStateException where that cannot be read, or its folders have other columns. */
  public void look() {
    current(scala.Option.apply(partitionSchema));
  }

  /** Whether a setting asks for this contract, or the property of a table, and no `Table.read`. */
  public boolean isBySetting() {
    return table.bySetting;
  }

  /** Spark's number of the execution that runs in this thread; null where none does: one that was started in an execution keeps its number for ever. */
  private String query() {
    String number = table.session.sparkContext().getLocalProperty(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
    return number == null || SQLExecution$.MODULE$.getQueryExecution(Long.parseLong(number)) == null ? null : number;
  }

  /** Python asks before it hands over the files of a snapshot. */
  public boolean knows(String snapshot) {
    return KnownFiles.get(snapshot) != null;
  }

  /** Whether the files of a snapshot are known now, which are in a file. after: as of KnownFiles.put. */
  public boolean know(String snapshot, String file, String after) throws IOException {
    return KnownFiles.put(snapshot, table.uri, file, after) != null;
  }

  private SnapshotVersion current(scala.Option schema) {
    Named named = named();
    SnapshotVersion version = last;
    if (version != null && version.id.equals(named.id)) return version;
    version = new SnapshotVersion(table, partitionSchema, named.id, named.number, named.known, schema);
    last = version;
    return version;
  }

  /** Of an index that tells no files: why. */
  public static final class Unreadable extends IllegalStateException {
    public final String why;

    private Unreadable(SnapshotTable table, String why) {
      super("the files of " + table.uri + " are those of its index, which cannot be read: " + why + "; read the table without " + table.asked);
      this.why = why;
    }
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

  /** The last version of the index; all scans of a query that read the same part are given the same one, whatever is refreshed meanwhile. */
  private Named named() {
    String query = query();
    Map known = query == null ? given : KnownFiles.givenTo(query);
    if (known == null) return asked();
    String key = System.identityHashCode(table.session) + " " + table.contract + " " + table.uri + " " + table.part();
    if (!known.containsKey(key)) known.putIfAbsent(key, asked());
    return (Named) known.get(key);
  }

  private Named asked() {
    for (int i = 0; i < TRIES; i++) {
      Connection.answersAtOnce();
      String said = (String) Connection.ask(python, "snapshot\n" + table.uri + "\n" + table.contract + "\n" + table.part(), this);
      if (said == null) said = "\ndata-skip was disabled in this session";
      String[] parts = said.split("\n", 2);
      if (parts[0].isEmpty()) {
        throw new Unreadable(table, parts[1]);
      }
      KnownFiles known = KnownFiles.get(parts[0]);
      if (known != null) return new Named(parts[0], parts[1], known);
    }
    throw new IllegalStateException("the files of " + table.uri + " are those of its index, of which too many are read at once; run the query again");
  }

  /** The files of the index's last version, in the partitions that some predicates leave, and of the names that others do. */
  public ListedFiles files(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    SnapshotFiles all = inPartitions(partitionFilters, null);
    List named = new ArrayList();
    for (int i = 0; i < dataFilters.size(); i++) if (onNamesOnly((Expression) dataFilters.apply(i))) named.add(dataFilters.apply(i));
    return named.isEmpty() ? all : all.only(Plans.seq(named));
  }

  private SnapshotFiles inPartitions(scala.collection.immutable.Seq partitionFilters, Set only) {
    SnapshotVersion version = current(scala.Option.apply(partitionSchema));
    return new SnapshotFiles(table, version, folders(version, partitionFilters, only).listFiles(partitionFilters, Plans.noFilters()));
  }

  private InMemoryFileIndex folders(SnapshotVersion version, scala.collection.immutable.Seq partitionFilters, Set only) {
    if (table.catalog == null) return version.folders;
    try {
      return version.partitions(table, CatalogPartitions.of(table, partitionFilters, only));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
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

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    return new Listing(null, this, table.session, files(partitionFilters, dataFilters)).kept();
  }

  public scala.collection.immutable.Seq rootPaths() {
    List paths = new ArrayList();
    paths.add(new ExplainedPath(table.root, this));
    return Plans.seq(paths);
  }

  public String[] inputFiles() {
    ListedFiles files = inPartitions(Plans.noFilters(), left);
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
    return table.contract + ": the files of version " + last.number + " of the index";
  }

  /** Two scans of one `Table.read` may share a result: those of another are not given what was cached of this one. */
  public boolean equals(Object other) {
    if (!(other instanceof SnapshotFileIndex)) return false;
    SnapshotFileIndex that = (SnapshotFileIndex) other;
    return table.equals(that.table) && python == that.python && given == that.given && partitionSchema.equals(that.partitionSchema);
  }

  public int hashCode() {
    return table.hashCode();
  }
}
