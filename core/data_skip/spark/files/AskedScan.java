package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FilePartition$;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/** A scan of a query, as Python is asked about its files, and asks about it: what is known of its rows. */
public final class AskedScan {
  private static final java.util.concurrent.atomic.AtomicLong COUNTER = new java.util.concurrent.atomic.AtomicLong();

  private final long number;
  private final FileIndex location;
  private final HadoopFsRelation relation;
  private final ScanTrees trees;
  private final Told told;
  private final LogicalRelation scan;
  private final AttributeSet columns;
  private final Expression predicate;
  private final List runtimeFilters;
  private final String listed; // why Spark lists it, where a contract that is asked for is not followed; else null
  private final SparkSession asking; // the query's; the relation may be of another
  private final SideTime time; // of all scans of the query
  private volatile Object known; // of its rows, in a form that is equal for equal scans
  private List affordable; // of its runtime filters, once it is asked for

  /** A number that no scan has. */
  public static long nextNumber() {
    return COUNTER.incrementAndGet();
  }

  /**
   * A scan whose rows all satisfy the predicate (null: nothing is known of them), and each of its runtime filters once it is known. columns:
   * which are read; null: all. listed: why Spark lists it, where a contract that is asked for is not followed; else null.
   */
  public AskedScan(
      LogicalRelation scan, AttributeSet columns, Expression predicate, List runtimeFilters, SparkSession asking, SideTime time, String listed) {
    this(nextNumber(), scan, columns, predicate, runtimeFilters, new ArrayList(), asking, time, listed);
  }

  private AskedScan(
      long number, LogicalRelation scan, AttributeSet columns, Expression predicate, List runtimeFilters, List notes, SparkSession asking,
      SideTime time, String listed) {
    this.number = number;
    this.listed = listed;
    this.time = time;
    this.columns = columns;
    this.asking = asking;
    this.scan = scan;
    this.runtimeFilters = runtimeFilters;
    this.relation = (HadoopFsRelation) scan.relation();
    this.location = relation.location();
    this.trees = new ScanTrees(encoder(scan), runtimeFilters);
    this.predicate = predicate == null ? null : Variants.asWritten(Plans.withoutQueries(predicate));
    trees.workers().within(this.predicate);
    List shown = new ArrayList(notes);
    if (listed != null) shown.add(listed);
    this.told = new Told(scan, columns, this.predicate, runtimeFilters, shown, asking, trees);
  }

  public static TreeEncoder encoder(LogicalRelation scan) {
    return new TreeEncoder(Description.columns(scan), ((HadoopFsRelation) scan.relation()).partitionSchema());
  }

  /** Tells the scans of a query apart. */
  public long number() {
    return number;
  }

  /** Spark's number of the running query; "" outside of one. */
  public String executionId() {
    return Plans.executionId(asking);
  }

  /** The session of the query. */
  public SparkSession asking() {
    return asking;
  }

  /** The session of the relation: that of the query, unless it reads a global view of another one. What is run for a query, the query's runs. */
  public SparkSession session() {
    return (SparkSession) relation.sparkSession();
  }

  /** What lists its files. */
  public FileIndex location() {
    return location;
  }

  /** As Told.roots. */
  public String roots() {
    Connection.answersAtOnce();
    return told.roots();
  }

  /** As Told.description: by the settings in force when it is first asked for. */
  public String description() {
    Connection.answersAtOnce();
    return told.description();
  }

  /** What is told of it, and of its listings. */
  public Told told() {
    return told;
  }

  /** As Told.settings. */
  public String settings() {
    return told.settings();
  }

  /**
   * JSON, three lines: which query and scan it is; the listing; the description of the scan: all that is asked of every listing. The first
   * alone differs where the same is planned again. In one text, since to answer anything by itself takes as long as most of what is decided.
   */
  public String told(Listing listing) {
    return which(true) + "\n" + told.of(listing);
  }

  /** A line that tells of which query and scan a listing is. byCalls: what is to be skipped is not told in the answer. */
  public String which(boolean byCalls) {
    Map which = new LinkedHashMap();
    which.put("by_calls", Boolean.valueOf(byCalls));
    which.put("execution_id", executionId());
    which.put("number", new Long(number));
    return Plans.json(which);
  }

  public Evaluator evaluator() {
    description(); // which numbers the nodes
    return trees.evaluator();
  }

  public Ranges ranges(String program) throws Exception {
    description(); // as above
    return trees.ranges(program);
  }

  /** What Python functions of the predicate give, as long as files are chosen. */
  public PythonWorkers workers() {
    return trees.workers();
  }

  /** Finds what was asked of Python functions; outside of callbacks only. */
  public void runWorkers() {
    trees.workers().run(asking);
  }

  /** Whether Python functions are in its predicate. */
  public boolean hasPython() {
    return predicate != null && PythonBatches.in(predicate);
  }

  /** The same with nothing known of what Python functions give. */
  public AskedScan anew() {
    return with(predicate, runtimeFilters, new ArrayList());
  }

  /** The scan with those of its runtime filters in its predicate that are to be run. said: what that may save; of each why it is not, or "". */
  public AskedScan withRuntimeFilters(String[] said) {
    List notes = new ArrayList();
    String[] unprofitable = (String[]) java.util.Arrays.copyOfRange(said, 1, said.length);
    try {
      time.mayBeSaved(Long.parseLong(said[0]), asking);
      return with(RuntimeFilters.and(predicate, runtimeFilters, unprofitable, time, notes, asking), new ArrayList(), notes);
    } catch (Exception e) {
      return with(predicate, new ArrayList(), Collections.singletonList("no join is used: " + e));
    }
  }

  private AskedScan with(Expression predicate, List runtimeFilters, List notes) {
    return new AskedScan(number, scan, columns, predicate, runtimeFilters, notes, asking, time, listed);
  }

  /** Lets go of what a listing of it holds, once its files are chosen. */
  public void forget(Listing listing) {
    listing.forget(trees.withoutPlans());
  }

  /** The files that Spark would list for this scan: those of the partitions that its predicate leaves. */
  public Listing listing() {
    List partitionFilters = new ArrayList();
    List parts = predicate == null ? partitionFilters : Plans.conjuncts(predicate);
    scala.collection.Iterator spelled = DataSourceStrategy$.MODULE$.normalizeExprs(Plans.seq(parts), scan.output()).iterator();
    while (spelled.hasNext()) {
      Expression part = (Expression) spelled.next();
      if (onPartitionsOnly(part)) partitionFilters.add(part);
    }
    return listing(files(Plans.seq(partitionFilters), Plans.noFilters()));
  }

  /**
   * The files at which Spark looks for columns and for the types of partitions, and which it does not read: empty ones, and those that lie
   * outside of all partitions.
   */
  public Listing beside() {
    List unread = new ArrayList();
    if (location instanceof PartitioningAwareFileIndex) {
      scala.collection.immutable.Seq all = ((PartitioningAwareFileIndex) location).allFiles();
      ListedFiles read = files(Plans.noFilters(), Plans.noFilters());
      HashSet paths = new HashSet();
      if (all.size() > read.count()) for (int i = 0; i < read.count(); i++) paths.add(read.path(i));
      scala.collection.Iterator each = all.size() > read.count() ? all.iterator() : scala.collection.Iterator$.MODULE$.empty();
      while (each.hasNext()) {
        FileStatus file = (FileStatus) each.next();
        if (!paths.contains(file.getPath())) unread.add(new FileStatusWithMetadata(file, scala.collection.immutable.Map$.MODULE$.empty()));
      }
    }
    PartitionDirectory one = new PartitionDirectory(InternalRow$.MODULE$.empty(), Plans.seq(unread));
    return listing(new ListedFiles.BySpark(Plans.seq(Collections.singletonList(one))));
  }

  public Listing listing(ListedFiles files) {
    return new Listing(this, location, session(), files);
  }

  /** What Spark lists. */
  public ListedFiles files(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    if (location instanceof SnapshotFileIndex) return ((SnapshotFileIndex) location).files(partitionFilters, dataFilters);
    return new ListedFiles.BySpark(location.listFiles(partitionFilters, dataFilters));
  }

  /**
   * Whether a file that may give other rows then is cut into other parts once files are taken away: the more bytes Spark reads, the larger
   * are the parts. Which folders are read may be known later only, where a join chooses partitions.
   */
  public boolean cutsOtherwise(Listing listing) {
    boolean all = location.partitionSchema().isEmpty();
    scala.collection.immutable.Seq kept = listing.kept();
    long size = partSize(all ? kept : Plans.seq(new ArrayList()));
    if (all && size == partSize(listing.listed())) return false;
    scala.collection.immutable.Map options = relation.options();
    List paths = listing.unsteady(size);
    for (int i = 0; i < paths.size(); i++) if (relation.fileFormat().isSplitable(session(), options, (Path) paths.get(i))) return true;
    return false;
  }

  private long partSize(scala.collection.immutable.Seq directories) {
    return FilePartition$.MODULE$.maxSplitBytes(session(), directories);
  }

  /** part: with columns in the scan's spelling, which is another than the query's where case does not matter. */
  private boolean onPartitionsOnly(Expression part) {
    if (part.references().isEmpty() || !Determinism.holds(part) || SubqueryExpression$.MODULE$.hasSubquery(part)) return false;
    scala.collection.Iterator references = part.references().iterator();
    while (references.hasNext()) {
      if (location.partitionSchema().getFieldIndex(((Attribute) references.next()).name()).isEmpty()) return false;
    }
    return true;
  }

  /** Whether something is known of its rows before another side is run, or such a side may be. */
  public boolean isAsked() {
    return predicate != Literal$.MODULE$.TrueLiteral() || !affordable().isEmpty();
  }

  /** Whether an index may say something of what is known of its rows. */
  public boolean isServed(Indexed indexed) {
    Map names = Description.columns(scan);
    return indexed.mayServe(predicate, names) || indexed.mayServeAny(affordable(), names);
  }

  private List affordable() {
    if (affordable == null) {
      affordable = runtimeFilters.isEmpty() ? runtimeFilters : RuntimeFilters.affordable(runtimeFilters, location);
    }
    return affordable;
  }

  /** Why runtime filters may not be run, and no contract is followed, for people. */
  public List whyLess() {
    List why = new ArrayList(RuntimeFilters.whyNotAffordable(runtimeFilters, asking.sessionState().conf(), location.sizeInBytes()));
    if (listed != null) why.add(listed);
    return why;
  }

  /** Whether the files are by a contract that a setting asks for, or the property of a table. */
  public boolean isBySetting() {
    return location instanceof SnapshotFileIndex && ((SnapshotFileIndex) location).isBySetting();
  }

  /** Whether such a contract is told of, followed or not. */
  public boolean isTold() {
    return listed != null || isBySetting();
  }

  /** Why Spark lists it, where a contract that is asked for is not followed; else null. */
  public String whyListed() {
    return listed;
  }

  /** Has Spark list its files anew, the next time that it is asked for them. */
  public void refresh() {
    location.refresh();
  }

  /** Two are equal where the same files are listed, and the same is known of their rows. */
  public boolean equals(Object other) {
    if (!(other instanceof AskedScan)) return false;
    AskedScan that = (AskedScan) other;
    boolean same = location.equals(that.location) && asking == that.asking && session() == that.session();
    return same && scan.schema().equals(that.scan.schema()) && known().equals(that.known());
  }

  private Object known() {
    if (known == null) {
      try {
        Map places = Alike.places(scan.output());
        Object sure = predicate == null ? null : new HashSet(Alike.toSpark(Plans.conjuncts(predicate), places));
        known = java.util.Arrays.asList(new Object[] {sure, new HashSet(RuntimeFilter.alike(runtimeFilters, places))});
      } catch (Throwable unknown) {
        known = new Object(); // equals no other
      }
    }
    return known;
  }

  public int hashCode() {
    return location.hashCode();
  }
}
