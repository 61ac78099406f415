package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.StructType$;

/** What Python calls: an object, since py4j cannot name classes that were compiled at run time. */
public final class Shim {
  /** @param client by which the JVM calls Python. libraries: see HadoopSettings. */
  public void calls(Object client, String libraries) {
    Connection.by(client);
    HadoopSettings.libraries(libraries);
  }

  /** Appends the rule to the session's optimizer; returns it. */
  public SkippingRule install(org.apache.spark.sql.classic.SparkSession session, BiFunction python) {
    KnownFiles.whileRunning(session.sparkContext());
    SkippingRule rule = new SkippingRule(python, false);
    List rules = withoutRule(session);
    rules.add(rule);
    session.experimental().extraOptimizations_$eq(Plans.seq(rules));
    return rule;
  }

  /** As Kept.of. */
  public Object kept(String number) {
    return Kept.of(number);
  }

  /** How many snapshots of indexes the JVM keeps. */
  public int snapshots() {
    return KnownFiles.kept();
  }

  public void uninstall(org.apache.spark.sql.classic.SparkSession session) {
    session.experimental().extraOptimizations_$eq(Plans.seq(withoutRule(session)));
  }

  /** By name: a Python that died (or was restarted) leaves a rule of another class loader behind. */
  private static List withoutRule(org.apache.spark.sql.classic.SparkSession session) {
    List rules = new ArrayList();
    scala.collection.Iterator installed = session.experimental().extraOptimizations().iterator();
    while (installed.hasNext()) {
      Object rule = installed.next();
      if (!rule.getClass().getName().equals("data_skip.SkippingRule")) rules.add(rule);
    }
    return rules;
  }

  /** The path that Spark reads for a path as users write it, in the form in which paths are compared. */
  public String qualified(org.apache.spark.sql.classic.SparkSession session, String path) throws java.io.IOException {
    Path given = new Path(path);
    return Plans.uri(given.getFileSystem(session.sessionState().newHadoopConf()).makeQualified(given));
  }

  /** Whether Hadoop takes `file:` for the files that every program on this machine sees. */
  public boolean localFiles(org.apache.spark.sql.classic.SparkSession session) throws java.io.IOException {
    String files = FileSystem.getFileSystemClass("file", session.sessionState().newHadoopConf()).getSimpleName();
    return files.equals("LocalFileSystem") || files.equals("RawLocalFileSystem") || files.equals("ProxyLocalFileSystem"); // Hive's
  }

  /** By what other systems keep beside the files of a table, of which the folder may be a partition; null where there is none of it. */
  public String tableFormat(org.apache.spark.sql.classic.SparkSession session, String path) throws java.io.IOException {
    Path folder = new Path(path);
    FileSystem files = folder.getFileSystem(session.sessionState().newHadoopConf());
    String found = tableFormat(files, folder);
    while (found == null && folder.getName().contains("=")) {
      folder = folder.getParent();
      found = tableFormat(files, folder);
    }
    return found;
  }

  private static String tableFormat(FileSystem files, Path folder) throws java.io.IOException {
    Path[] signs = new Path[] {new Path(folder, "_delta_log"), new Path(folder, ".hoodie"), new Path(folder, "metadata")};
    boolean[] are = FilesNow.exist(files, signs);
    if (are[0]) return "Delta";
    if (are[1]) return "Hudi";
    boolean ofIceberg = (are[2] && ofIceberg(files, folder)) || ("data".equals(folder.getName()) && ofIceberg(files, folder.getParent()));
    return ofIceberg ? "Iceberg" : null;
  }

  /** As of Contracts. */
  public boolean isOfStream(org.apache.spark.sql.classic.SparkSession session, String root) {
    return Contracts.isOfStream(SnapshotTable.path(root), session);
  }

  private static boolean ofIceberg(FileSystem files, Path root) throws java.io.IOException {
    FileStatus[] found = files.globStatus(new Path(new Path(root, "metadata"), "*.metadata.json"));
    return found != null && found.length > 0;
  }

  /** The scan of an analysed plan that merely selects from one file relation, with no predicate; null where it reads something else. */
  public AskedScan scan(LogicalPlan analyzed) {
    LogicalRelation relation = Relations.only(analyzed);
    if (relation == null || relation.isStreaming()) return null;
    org.apache.spark.sql.SparkSession session = ((HadoopFsRelation) relation.relation()).sparkSession();
    org.apache.spark.sql.classic.SparkSession own = (org.apache.spark.sql.classic.SparkSession) session;
    return new AskedScan(relation, null, null, new ArrayList(), own, new SideTime(), null);
  }

  public String formatName(Object format) {
    return Plans.formatName(format);
  }

  /** The scans of an optimised plan that stand below a predicate, with a skipping FileIndex, whether or not there is an index. */
  public List skippingScans(org.apache.spark.sql.classic.SparkSession session, LogicalPlan optimized, BiFunction python) {
    scala.Option active = org.apache.spark.sql.classic.SparkSession$.MODULE$.getActiveSession();
    org.apache.spark.sql.classic.SparkSession$.MODULE$.setActiveSession(session);
    try {
      return skippingScans((LogicalPlan) new SkippingRule(python, true).apply(optimized));
    } finally {
      if (active.isEmpty()) org.apache.spark.sql.classic.SparkSession$.MODULE$.clearActiveSession();
      else org.apache.spark.sql.classic.SparkSession$.MODULE$.setActiveSession((org.apache.spark.sql.classic.SparkSession) active.get());
    }
  }

  private static List skippingScans(LogicalPlan optimized) {
    List result = new ArrayList();
    if (optimized instanceof LogicalRelation) {
      LogicalRelation scan = (LogicalRelation) optimized;
      if (scan.relation() instanceof HadoopFsRelation) {
        Object location = ((HadoopFsRelation) scan.relation()).location();
        if (location instanceof SkippingFileIndex) result.add(((SkippingFileIndex) location).scan());
      }
    }
    scala.collection.Iterator children = optimized.children().iterator();
    while (children.hasNext()) result.addAll(skippingScans((LogicalPlan) children.next()));
    return result;
  }

  /**
   * The last column of an optimised SELECT, as JSON of an expression over the columns of the file relation below it.
   * Null where the plan does more than select (a subquery, an aggregate, a window, ...).
   */
  public String expression(QueryExecution execution) {
    return expression(uncached(execution));
  }

  /** The plan as Spark optimises it, whether or not somebody has cached the table: what is cached are no files. */
  private static LogicalPlan uncached(final QueryExecution execution) {
    final org.apache.spark.sql.classic.SparkSession session = (org.apache.spark.sql.classic.SparkSession) execution.sparkSession();
    if (session.sharedState().cacheManager().isEmpty()) return execution.optimizedPlan(); // which others ask for as well
    return (LogicalPlan) session.withActive(new scala.runtime.AbstractFunction0() {
      public Object apply() {
        return session.sessionState().optimizer().execute((LogicalPlan) execution.analyzed().clone());
      }
    });
  }

  private String expression(LogicalPlan optimized) {
    if (!(optimized instanceof Project)) return null;
    Expression expression = ((NamedExpression) ((Project) optimized).projectList().last()).toAttribute();
    LogicalPlan plan = optimized;
    while (!(plan instanceof LogicalRelation)) {
      if (!(plan instanceof Project) && !(plan instanceof BaseEvalPython)) return null;
      expression = Substitution.substitute(expression, Substitution.computed(plan));
      plan = (LogicalPlan) plan.children().head();
    }
    return Plans.json(AskedScan.encoder((LogicalRelation) plan).encode(Variants.asWritten(expression)));
  }

  /** Whether an operator of an optimised plan runs Python functions that were given different environments. */
  public boolean mixesEnvironments(LogicalPlan optimized) {
    if (optimized instanceof BaseEvalPython && Meddling.mixesEnvironments(((BaseEvalPython) optimized).udfs())) return true;
    scala.collection.Iterator children = optimized.children().iterator();
    while (children.hasNext()) if (mixesEnvironments((LogicalPlan) children.next())) return true;
    return false;
  }

  /** As Alike.areMistaken. */
  public boolean mistakes(LogicalPlan optimized) {
    return Alike.areMistaken(optimized);
  }

  /** Whether a plan asks when, by whom or in which session it is run. */
  public boolean asksWhoAndWhen(LogicalPlan analyzed) {
    return analyzed.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE());
  }

  /** As Foreign.whyNotEvaluated. */
  public String whyNotEvaluated(org.apache.spark.sql.classic.SparkSession session, String sql) throws Exception {
    return Foreign.whyNotEvaluated(session, sql);
  }

  /**
   * The same DataFrame, over some files of a listing only: those that are to be read. `malformed`: the name of the
   * column in which a text format keeps each record that it could not parse; null for other formats. `number`: that of a further one
   * for each file's place in the listing; null for none. `part`: the most bytes of the parts into which files are cut; null: as the session says.
   */
  public Object restricted(LogicalPlan analyzed, Listing listing, String malformed, String number, String part) {
    LogicalRelation old = Relations.only(analyzed);
    ChosenFiles files = new ChosenFiles(((HadoopFsRelation) old.relation()).location(), listing, number);
    LogicalRelation chosen = Relations.forCollecting(old, files, malformed, part);
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(listing.session(), replace(analyzed, old, chosen));
  }

  /** So many rows of a DataFrame, at most, of each of its partitions: tasks read no more of them. */
  public Object firstRows(org.apache.spark.sql.classic.Dataset frame, String count) {
    Expression most = org.apache.spark.sql.catalyst.expressions.Literal$.MODULE$.apply(Integer.valueOf(count));
    LogicalPlan limited = new org.apache.spark.sql.catalyst.plans.logical.LocalLimit(most, frame.logicalPlan());
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows((org.apache.spark.sql.classic.SparkSession) frame.sparkSession(), limited);
  }

  /**
   * A DataFrame that reads one file of a table, over those of the last version of its index. schema: what the user says that columns are, as
   * JSON or as Spark writes it; null where that is found.
   */
  public Object snapshotFrame(LogicalPlan analyzed, String root, String contract, String schema, BiFunction python) {
    LogicalRelation some = Relations.only(analyzed);
    HadoopFsRelation old = (HadoopFsRelation) some.relation();
    org.apache.spark.sql.classic.SparkSession session = (org.apache.spark.sql.classic.SparkSession) old.sparkSession();
    Object columns = schema == null ? null : schema.startsWith("{") ? DataType$.MODULE$.fromJson(schema) : StructType$.MODULE$.fromDDL(schema);
    SnapshotTable table = new SnapshotTable(session, root, contract, old.options(), null, null);
    SnapshotFileIndex files = new SnapshotFileIndex(table, scala.Option.apply(columns), python);
    StructType data = old.dataSchema();
    if (schema != null) data = without(data, files.partitionSchema(), session.sessionState().conf().caseSensitiveAnalysis());
    HadoopFsRelation relation =
        new HadoopFsRelation(files, files.partitionSchema(), data, old.bucketSpec(), old.fileFormat(), old.options(), session);
    LogicalPlan scan = org.apache.spark.sql.execution.datasources.LogicalRelation$.MODULE$.apply(relation, false);
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(session, scan);
  }

  /** A DataFrame of a table of the catalog, over the files of the last version of its index. IllegalStateException that says why not. */
  public Object snapshotOfCatalog(LogicalPlan analyzed, String contract, BiFunction python) {
    LogicalRelation old = Relations.only(analyzed);
    if (old == null || !(old.relation() instanceof HadoopFsRelation)) {
      throw new IllegalStateException("it is no table of files by now, but a view, or another system's");
    }
    org.apache.spark.sql.SparkSession session = ((HadoopFsRelation) old.relation()).sparkSession();
    LogicalRelation scan = Relations.withLocation(old, new Contracts(python).files(old, contract, null));
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows((org.apache.spark.sql.classic.SparkSession) session, replace(analyzed, old, scan));
  }

  private static StructType without(StructType columns, StructType others, boolean caseSensitive) {
    StructType left = new StructType();
    for (int i = 0; i < columns.length(); i++) {
      boolean met = false;
      for (int j = 0; j < others.length(); j++) {
        String name = columns.fields()[i].name();
        String other = others.fields()[j].name();
        met |= caseSensitive ? name.equals(other) : name.equalsIgnoreCase(other);
      }
      if (!met) left = left.add(columns.fields()[i]);
    }
    return left;
  }

  /** As StorageSettings.of. */
  public byte[] storage(org.apache.spark.sql.classic.SparkSession session, String uri, String keys, String secrets) throws java.io.IOException {
    return StorageSettings.of(session, uri, keys, secrets);
  }

  /** Whether there is a file: an object store is asked once, and not for a folder of that name as well. */
  public boolean isThere(org.apache.spark.sql.classic.SparkSession session, String uri) throws java.io.IOException {
    org.apache.hadoop.conf.Configuration hadoop = session.sessionState().newHadoopConf();
    Path path = StorageSettings.path(uri, hadoop);
    try {
      path.getFileSystem(hadoop).open(path).close();
      return true;
    } catch (java.io.FileNotFoundException none) {
      return false;
    }
  }

  /** Deletes files in a folder, those that are there. names: a line each. */
  public void delete(org.apache.spark.sql.classic.SparkSession session, String uri, String names) throws java.io.IOException {
    FilesNow.delete(uri, names.split("\n"), session.sessionState().newHadoopConf());
  }

  /** What tells a file from another one of its name: its size and time, and what the store calls its version, where it does. */
  public String identity(org.apache.spark.sql.classic.SparkSession session, String uri) throws java.io.IOException {
    org.apache.hadoop.conf.Configuration hadoop = session.sessionState().newHadoopConf();
    Path path = StorageSettings.path(uri, hadoop);
    return identity(path.getFileSystem(hadoop).getFileStatus(path));
  }

  private static String identity(FileStatus file) {
    String size = file.getLen() + " ";
    if (!(file instanceof EtagSource)) return size + file.getModificationTime();
    // A list of files may have milliseconds, what is said of one has seconds.
    return size + file.getModificationTime() / 1000 + " " + ((EtagSource) file).getEtag();
  }

  /** Of each file in a folder its name, its size and its identity, a line each; nothing where there is no such folder. */
  public String filesIn(org.apache.spark.sql.classic.SparkSession session, String uri) throws java.io.IOException {
    org.apache.hadoop.conf.Configuration hadoop = session.sessionState().newHadoopConf();
    Path folder = StorageSettings.path(uri, hadoop);
    StringBuilder text = new StringBuilder();
    try {
      FileStatus[] found = folder.getFileSystem(hadoop).listStatus(folder);
      for (int i = 0; i < found.length; i++) {
        String name = found[i].getPath().getName();
        if (found[i].isDirectory() || name.indexOf('\n') >= 0 || name.indexOf('\t') >= 0) continue;
        text.append(name).append('\t').append(found[i].getLen()).append('\t').append(identity(found[i])).append('\n');
      }
    } catch (java.io.FileNotFoundException none) {
      return "";
    }
    return text.toString();
  }

  /** What files in a folder begin with, one after the other. `files`: of each how many bytes, and its name, a line each. */
  public String contents(org.apache.spark.sql.classic.SparkSession session, String uri, String files) throws java.io.IOException {
    return Connection.text(FilesNow.contents(uri, files.split("\n"), session.sessionState().newHadoopConf()));
  }

  /** The size and the modification time of each of some files below a root, whose paths are a line each: of each a line, empty where it is gone. */
  public String filesNow(org.apache.spark.sql.classic.SparkSession session, String root, String paths) throws java.io.IOException {
    String[] each = paths.split("\n");
    List asked = new ArrayList();
    for (int i = 0; i < each.length; i++) asked.add(SnapshotTable.path(root + "/" + each[i]));
    FileStatus[] found = FilesNow.of(asked, session.sessionState().newHadoopConf());
    StringBuilder result = new StringBuilder();
    for (int i = 0; i < found.length; i++) {
      if (i > 0) result.append('\n');
      if (found[i] != null) result.append(found[i].getLen()).append(' ').append(found[i].getModificationTime());
    }
    return result.toString();
  }

  /** The lines of those files of a listing that are to be read, as they lie, in a column `line`, and each file's place in `number`. */
  public Object lines(LogicalPlan analyzed, Listing listing, String line, String number, String encoding, String part) {
    LogicalRelation old = Relations.only(analyzed);
    ChosenFiles files = new ChosenFiles(((HadoopFsRelation) old.relation()).location(), listing, number);
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(listing.session(), Relations.lines(old, files, line, encoding, part));
  }

  /**
   * The plan over another scan. Spark pads CHAR columns in a Project: it passes on what the new scan reads besides, and the
   * table's alias above it goes, since it would hide `_metadata`.
   */
  private static LogicalPlan replace(LogicalPlan plan, LogicalRelation old, LogicalRelation replacement) {
    if (plan == old) return replacement;
    if (plan.children().isEmpty()) return plan;
    LogicalPlan child = replace((LogicalPlan) plan.children().head(), old, replacement);
    if (plan instanceof SubqueryAlias && child instanceof Project) return child;
    if (!(plan instanceof Project)) return (LogicalPlan) plan.withNewChildren(Plans.seq(Collections.singletonList(child)));
    List columns = new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(((Project) plan).projectList()));
    List output = scala.jdk.javaapi.CollectionConverters.asJava(replacement.output());
    columns.addAll(output.subList(old.output().size(), output.size()));
    return new Project(Plans.seq(columns), child);
  }
}
