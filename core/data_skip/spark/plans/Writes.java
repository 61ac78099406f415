package data_skip;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** What becomes of the rows of a plan: written over files, by what was read of them, they would lose those that the index does not know. */
public final class Writes {
  private static final String ANALYZE = "org.apache.spark.sql.execution.command.Analyze";
  private static final String EXPLAIN = "org.apache.spark.sql.execution.command.ExplainCommand";
  private static final String[] COMMANDS = {
    "org.apache.spark.sql.execution.command.ExecutedCommandExec", "org.apache.spark.sql.execution.datasources.v2.V2CommandExec"};
  private static final String NO_QUERY = "only queries follow it, and those of which Spark writes files";
  private static final String STREAM = "sql.streaming.queryId"; // StreamExecution.QUERY_ID_KEY
  private static final String FOREACH_BATCH = "ForeachBatchSink";
  private static final String[] ADDING_SINKS = {"org.apache.spark.sql.execution.", "org.apache.spark.sql.kafka010."};
  private static final Map STORES = new HashMap(); // whose names, but for the scheme, tell one folder from another

  static {
    String[] names = {"file", "file", "s3", "s3", "s3a", "s3", "s3n", "s3", "abfs", "abfs", "abfss", "abfs", "gs", "gs"};
    for (int i = 0; i < names.length; i += 2) STORES.put(names[i], names[i + 1]);
  }

  private final SparkSession session;
  private final List folders = new ArrayList(); // that the plan writes to, and those of partitions that it may write to
  private final boolean isQuery; // whether it is known where all goes
  private final boolean streams; // to what is not known to add to what is there
  private final Configuration hadoop; // made where something is written

  public Writes(LogicalPlan plan, SparkSession session) {
    this.session = session;
    List written = written(plan, session);
    isQuery = !written.contains(null);
    streams = plan.isStreaming() && !isAdding(session);
    hadoop = written.isEmpty() ? null : session.sessionState().newHadoopConf();
    for (int i = 0; isQuery && i < written.size(); i++) folders.add(new Folder(Description.qualified((Path) written.get(i), session), hadoop));
  }

  /** The folders that a plan writes to, and those of partitions that it may write to; null in it stands for one that is not known. */
  private static List written(LogicalPlan plan, final SparkSession session) {
    final List result = new ArrayList();
    plan.foreach(new scala.runtime.AbstractFunction1() {
      public Object apply(Object node) {
        if (node instanceof InsertIntoHadoopFsRelationCommand) {
          InsertIntoHadoopFsRelationCommand writing = (InsertIntoHadoopFsRelationCommand) node;
          result.add(writing.outputPath());
          if (writing.catalogTable().isDefined()) result.addAll(CatalogPartitions.locations(session, (CatalogTable) writing.catalogTable().get()));
        } else if (node instanceof Command) {
          result.add(null);
        }
        return null;
      }
    });
    return result;
  }

  /**
   * Whether the stream that runs gives its batches to a sink of Spark's that adds them to what is there. By `foreachBatch` the user is given
   * them, as rows of which no plan tells whence they are, and sinks of other systems may lay their table over the folder that was read.
   */
  private static boolean isAdding(SparkSession session) {
    String id = session.sparkContext().getLocalProperty(STREAM);
    Object query = id == null ? null : session.sharedState().activeStreamingQueries().get(UUID.fromString(id));
    String sink = "";
    try {
      if (query != null) sink = query.getClass().getMethod("sink", new Class[0]).invoke(query, new Object[0]).getClass().getName();
    } catch (ReflectiveOperationException unknown) {
      return false;
    }
    boolean known = false;
    for (int i = 0; i < ADDING_SINKS.length; i++) known |= sink.startsWith(ADDING_SINKS[i]);
    return known && !sink.endsWith(FOREACH_BATCH);
  }

  /** IllegalStateException that says why a scan of the plan has to be of all files that are there. */
  public void refuse(LogicalRelation scan) {
    if (!isQuery) throw new IllegalStateException(NO_QUERY);
    if (streams) throw new IllegalStateException("a batch of a stream may be written where it reads");
    Iterator read = folders.isEmpty() ? folders.iterator() : read(scan).iterator();
    while (read.hasNext()) {
      Folder folder = new Folder((Path) read.next(), hadoop);
      for (int i = 0; i < folders.size(); i++) {
        if (folder.mayMeet((Folder) folders.get(i))) throw new IllegalStateException("the query writes where it reads, and might lose files");
      }
    }
    refuseCallers();
  }

  /** The folders that a scan reads: of this machine all, as each may be a link. */
  private Set read(LogicalRelation scan) {
    Set result = new HashSet();
    List roots = Description.roots(scan);
    boolean local = false;
    for (int i = 0; i < roots.size(); i++) {
      Path root = SnapshotTable.path((String) roots.get(i));
      local |= Folder.isLocal(root);
      result.add(root);
    }
    if (!local) return result;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    if (location instanceof InMemoryFileIndex) {
      scala.collection.Iterator files = ((InMemoryFileIndex) location).allFiles().iterator();
      while (files.hasNext()) result.add(((FileStatus) files.next()).getPath().getParent());
    } else if (scan.catalogTable().isDefined()) {
      List partitions = CatalogPartitions.locations(session, (CatalogTable) scan.catalogTable().get());
      for (int i = 0; i < partitions.size(); i++) result.add(Description.qualified((Path) partitions.get(i), session));
    }
    return result;
  }

  /**
   * Statistics are of the files that are there. And so are caches and checkpoints: a query that writes where it reads may be given them. A command
   * of another system, as a write to Delta, runs its query by itself, and may lay its table over the folder that is read.
   */
  private void refuseCallers() {
    boolean inCommand = false;
    boolean explained = false;
    StackTraceElement[] callers = new Throwable().getStackTrace();
    for (int i = 0; i < callers.length; i++) {
      String caller = callers[i].getClassName();
      if (caller.startsWith(ANALYZE)) throw new IllegalStateException("ANALYZE counts the files that are there");
      if (Callers.isCache(callers[i])) throw new IllegalStateException("what is cached may be read by queries that write");
      if (Callers.isCheckpoint(callers[i])) throw new IllegalStateException("a checkpoint may be read by queries that write");
      inCommand |= Arrays.asList(COMMANDS).contains(caller);
      explained |= caller.startsWith(EXPLAIN);
    }
    if (inCommand && !explained && folders.isEmpty()) throw new IllegalStateException(NO_QUERY);
  }

  /** A folder as it is compared: where links lead, of this machine, and mounts, as of viewfs, whatever the name by which it is reached. */
  private static final class Folder {
    private final String store; // "" of one that may have other names, as HDFS has those of its nodes
    private final String path;

    private Folder(Path named, Configuration hadoop) {
      Path found = named;
      String local = null;
      try {
        if (!isLocal(found)) found = found.getFileSystem(hadoop).resolvePath(found);
        if (isLocal(found)) local = new File(found.toUri().getPath()).getCanonicalPath();
      } catch (IOException unknown) {
        // then by its name, as one that is not there
      }
      URI uri = found.toUri();
      String family = (String) STORES.get(uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(java.util.Locale.ROOT));
      String authority = uri.getAuthority() == null ? "" : uri.getAuthority().replaceAll(":[0-9]*$", "");
      store = family == null ? "" : family + "://" + authority;
      path = (local == null ? uri.getPath() : local).replaceAll("/*$", "/");
    }

    private static boolean isLocal(Path path) {
      return "file".equals(path.toUri().getScheme());
    }

    /** Whether one may lie in the other, or is it. */
    private boolean mayMeet(Folder other) {
      boolean mayBeOne = store.isEmpty() || other.store.isEmpty() || store.equals(other.store);
      return mayBeOne && (path.startsWith(other.path) || other.path.startsWith(path));
    }
  }
}
