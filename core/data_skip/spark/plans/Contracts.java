package data_skip;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.deploy.SparkHadoopUtil$;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The contracts that a session's setting asks for, or a table's property: scans that Spark has made of a listing are given the files of the
 * last version of the table's index. Columns stay those that Spark has found. Where that cannot be, they stay as they are, and it is said why.
 */
public final class Contracts {
  private static final String PROPERTY = "data_skip.freshness";
  private static final String LISTING = "listing";
  private static final String[] CHOOSING = {"pathGlobFilter", "modifiedBefore", "modifiedAfter", "recursiveFileLookup"}; // and those of SnapshotTable
  private static final String STREAMS_LOG = "_spark_metadata"; // FileStreamSink.metadataDir
  private static final String BESIDE_A_LOG = "a stream wrote the folder, whose log is not heeded where the path is a pattern";
  private static final int KEPT = 16;

  private final BiFunction python;
  private final Map kept = Collections.synchronizedMap(new LinkedHashMap(16, 0.75f, true) { // as what they know of a version is found once
    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > KEPT;
    }
  });

  public Contracts(BiFunction python) {
    this.python = python;
  }

  /** A plan with the files of its scans by the contracts in force. why: is told of the relation of each of the others why it is not. */
  public LogicalPlan followed(LogicalPlan plan, List scans, SparkSession asking, Map why) {
    Map locations = new IdentityHashMap(); // by the relation: scans with columns of the same ids may be of several
    Writes writes = null;
    Map unfollowed = new HashMap(); // by the root of a table, as all scans of it in a query are to read one version
    Map looked = new HashMap(); // as of `files`
    for (int i = 0; i < scans.size(); i++) {
      LogicalRelation scan = (LogicalRelation) scans.get(i);
      if (((HadoopFsRelation) scan.relation()).location() instanceof SnapshotFileIndex) continue; // by `Table.read`
      String asked = asked(scan, asking.sessionState().conf());
      String contract = UserSettings.contract(asked.substring(asked.indexOf('=') + 1));
      if (LISTING.equals(contract)) continue;
      try {
        if (writes == null) writes = new Writes(plan, asking);
        if (contract == null) throw new IllegalStateException("it is no contract, as listing, snapshot or bounded(60) are");
        writes.refuse(scan);
        locations.put(scan.relation(), files(scan, contract, asked, looked));
      } catch (Exception error) {
        String told = "Spark's listing is read, not by " + asked + ": " + said(error);
        why.put(scan.relation(), told);
        unfollowed.put(Description.roots(scan).get(0), told);
      }
    }
    for (int i = 0; i < scans.size() && !unfollowed.isEmpty(); i++) {
      LogicalRelation scan = (LogicalRelation) scans.get(i);
      Object told = unfollowed.get(Description.roots(scan).get(0));
      if (told != null && locations.remove(scan.relation()) != null) why.put(scan.relation(), told);
    }
    return locations.isEmpty() ? plan : with(plan, locations);
  }

  private static LogicalPlan with(LogicalPlan plan, final Map locations) {
    return Plans.withNodes(plan, new Function() {
      public Object apply(Object node) {
        Object location = node instanceof LogicalRelation ? locations.get(((LogicalRelation) node).relation()) : null;
        return location == null ? null : Relations.withLocation((LogicalRelation) node, (FileIndex) location);
      }
    });
  }

  /** Whether anything is to be told of contracts that are asked for: a scan is by one, or is not, as `why` says. */
  public static boolean told(List scans, Map why) {
    for (int i = 0; i < scans.size(); i++) {
      LogicalRelation scan = (LogicalRelation) scans.get(i);
      FileIndex location = ((HadoopFsRelation) scan.relation()).location();
      if (whyListed(scan, why) != null || location instanceof SnapshotFileIndex && ((SnapshotFileIndex) location).isBySetting()) return true;
    }
    return false;
  }

  public static String whyListed(LogicalRelation scan, Map why) {
    return why.isEmpty() ? null : (String) why.get(scan.relation());
  }

  private static String said(Exception error) {
    return error.getMessage() == null ? error.toString() : error.getMessage().split("\n")[0];
  }

  /** What is asked for, as `spark.data_skip.freshness=snapshot`: the property of a table of the catalog counts before the session's setting. */
  private static String asked(LogicalRelation scan, SQLConf conf) {
    scala.Option property = scan.catalogTable().isEmpty() ? scan.catalogTable() : ((CatalogTable) scan.catalogTable().get()).properties().get(PROPERTY);
    return property.isEmpty() ? UserSettings.freshnessText(conf) : "the table's property " + PROPERTY + "=" + property.get();
  }

  /** The files of a scan by a contract. asked: what asks for it; null: `Table.read`. IllegalStateException that says why that cannot be. */
  public SnapshotFileIndex files(LogicalRelation scan, String contract, String asked) {
    return files(scan, contract, asked, new HashMap());
  }

  /** looked: what was found for scans of the same plan: an index is brought up to date once, however many there are. */
  private SnapshotFileIndex files(LogicalRelation scan, String contract, String asked, Map looked) {
    HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
    FileIndex location = relation.location();
    for (int i = 0; i < CHOOSING.length; i++) {
      if (relation.options().contains(CHOOSING[i])) throw new IllegalStateException(CHOOSING[i] + " chooses files, and the index is of others, perhaps");
    }
    CatalogTable catalog = ofPartitions(scan);
    String root = root(scan, catalog);
    SparkSession session = (SparkSession) relation.sparkSession();
    SnapshotTable table = new SnapshotTable(session, root, contract, relation.options(), asked, catalog);
    if (catalog != null) refuseElsewhere(location, table);
    else refuseTimes(location, table);
    Object key = Arrays.asList(new Object[] {table, location.partitionSchema()});
    SnapshotFileIndex files = (SnapshotFileIndex) looked.get(key);
    if (files == null) looked.put(key, files = files(scan, table, key));
    boolean pruned = catalog != null && location instanceof InMemoryFileIndex;
    return pruned ? files.leaving(scala.jdk.javaapi.CollectionConverters.asJava(location.rootPaths())) : files;
  }

  private SnapshotFileIndex files(LogicalRelation scan, SnapshotTable table, Object key) {
    Connection.answersAtOnce();
    String name = scan.catalogTable().isEmpty() ? null : ((CatalogTable) scan.catalogTable().get()).identifier().quotedString();
    Map told = new HashMap();
    told.put("root", table.uri);
    told.put("contract", table.contract);
    told.put("table", name);
    told.put("part", table.part());
    told.put("decide_seconds", new Double(UserSettings.decideSeconds(table.session.sessionState().conf())));
    String why = (String) Connection.ask(python, "follow\n" + Plans.json(told), this);
    if (why == null || !why.isEmpty()) throw new IllegalStateException(why == null ? "data-skip was disabled in this session" : why);
    StructType partitions = ((HadoopFsRelation) scan.relation()).location().partitionSchema();
    SnapshotFileIndex files = (SnapshotFileIndex) kept.get(key);
    try {
      if (files != null) files.look();
      else kept.put(key, files = new SnapshotFileIndex(table, partitions, python));
    } catch (SnapshotFileIndex.Unreadable error) {
      throw new IllegalStateException(error.why);
    }
    return files;
  }

  /** The table of a scan, if the catalog knows its partitions; else null. */
  private static CatalogTable ofPartitions(LogicalRelation scan) {
    CatalogTable table = scan.catalogTable().isEmpty() ? null : (CatalogTable) scan.catalogTable().get();
    boolean known = table != null && table.tracksPartitionsInCatalog() && table.partitionColumnNames().nonEmpty();
    if (!known) return null;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    boolean pruned = location instanceof InMemoryFileIndex && location.partitionSchema().equals(table.partitionSchema()); // by Spark's optimizer
    return location instanceof CatalogFileIndex || pruned ? table : null;
  }

  /** Where the one folder lies that a scan reads, as paths are compared. */
  private static String root(LogicalRelation scan, CatalogTable catalog) {
    HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
    FileIndex location = relation.location();
    if (catalog == null && !location.getClass().equals(InMemoryFileIndex.class)) {
      throw new IllegalStateException("its files are listed by " + location.getClass().getSimpleName());
    }
    int paths = location.rootPaths().size();
    if (catalog == null && paths != 1) throw new IllegalStateException("it stands for " + paths + " paths, and an index is of one folder");
    Path root = catalog == null ? (Path) location.rootPaths().head() : new Path(catalog.location());
    SparkSession session = (SparkSession) relation.sparkSession();
    if (catalog == null && !isNamed(relation) && isOfStream(root, session)) throw new IllegalStateException(BESIDE_A_LOG);
    return Plans.uri(Description.qualified(root, session)).replaceAll("/+$", "");
  }

  /** Whether one path is named, and no pattern is: of one Spark looks whether a stream wrote it (DataSource.resolveRelation). */
  private static boolean isNamed(HadoopFsRelation relation) {
    scala.Option path = relation.options().get("path");
    return path.isDefined() && !SparkHadoopUtil$.MODULE$.get().isGlobPath(new Path((String) path.get()));
  }

  /** Whether a stream wrote a folder: then its log says which files are there, to those who name the folder. */
  public static boolean isOfStream(Path root, SparkSession session) {
    try {
      Path[] log = new Path[] {new Path(root, STREAMS_LOG)};
      return FilesNow.exist(root.getFileSystem(session.sessionState().newHadoopConf()), log)[0];
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static void refuseElsewhere(FileIndex location, SnapshotTable table) {
    try {
      if (location instanceof CatalogFileIndex) CatalogPartitions.of(table, Plans.noFilters(), null);
      else for (int i = 0; i < location.rootPaths().size(); i++) CatalogPartitions.refuseElsewhere((Path) location.rootPaths().apply(i), table);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** Spark has read the times of folders by the zone of a session when it listed them, which it does not tell; theirs may be another by now. */
  private static void refuseTimes(FileIndex location, SnapshotTable table) {
    if (table.parameters.contains(SnapshotTable.TIME_ZONE)) return;
    StructField[] columns = location.partitionSchema().fields();
    for (int i = 0; i < columns.length; i++) {
      if (!columns[i].dataType().equals(DataTypes.TimestampType)) continue;
      throw new IllegalStateException("the zone by which its folders tell " + columns[i].name() + " is not known; option timeZone says it");
    }
  }
}
