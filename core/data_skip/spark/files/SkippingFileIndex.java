package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FilePartition$;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * A FileIndex that lists what the wrapped one lists, less the files which Python proves to hold no row of this scan's
 * predicate. Where Python fails, every file stays.
 */
public final class SkippingFileIndex implements FileIndex, ScannedFiles.Wrapper {
  private static final java.util.concurrent.atomic.AtomicLong COUNTER = new java.util.concurrent.atomic.AtomicLong();

  private final long number;
  private final FileIndex wrapped;
  private final HadoopFsRelation relation;
  private final BiFunction python;
  private final ScanTrees trees;
  private final Told told;
  private final LogicalRelation scan;
  private final AttributeSet asked;
  private final Expression predicate;
  private final List runtimeFilters;
  private final List notes;
  private final String listed; // why Spark lists it, where a contract that is asked for is not followed; else null
  private final SparkSession asking; // the query's; the relation may be of another
  private final SideTime time; // of all scans of the query
  private Decisions decisions;
  private SameFiles same; // as those that other scans read; null: it matters to none
  private volatile Object known; // of its rows, in a form that is equal for equal scans
  private List affordable; // of its runtime filters, once it is asked for
  private volatile String[] lastExplained; // the running query that asked last, and what it was told
  private volatile Object[] lastListed; // by which filters it was listed last, and what was given

  /** A number that no scan has. */
  public static long nextNumber() {
    return COUNTER.incrementAndGet();
  }

  /**
   * A scan whose rows all satisfy the predicate (null: nothing is known of them), and each of its runtime filters once it is known. asked:
   * which columns are read; null: all. listed: why Spark lists it, where a contract that is asked for is not followed; else null.
   */
  public SkippingFileIndex(
      LogicalRelation scan, AttributeSet asked, Expression predicate, List runtimeFilters, BiFunction python, SparkSession asking, SideTime time,
      String listed) {
    this(nextNumber(), scan, asked, predicate, runtimeFilters, new ArrayList(), python, asking, time, listed);
  }

  private SkippingFileIndex(
      long number, LogicalRelation scan, AttributeSet asked, Expression predicate, List runtimeFilters, List notes, BiFunction python,
      SparkSession asking, SideTime time, String listed) {
    this.number = number;
    this.listed = listed;
    this.time = time;
    this.asked = asked;
    this.asking = asking;
    this.scan = scan;
    this.runtimeFilters = runtimeFilters;
    this.relation = (HadoopFsRelation) scan.relation();
    this.wrapped = relation.location();
    this.python = python;
    this.trees = new ScanTrees(encoder(scan), runtimeFilters);
    this.predicate = predicate == null ? null : Variants.asWritten(Plans.withoutQueries(predicate));
    trees.workers().within(this.predicate);
    this.notes = notes;
    List shown = new ArrayList(notes);
    if (listed != null) shown.add(listed);
    this.told = new Told(scan, asked, this.predicate, runtimeFilters, shown, asking, trees);
    this.decisions = new Decisions(python, null, null);
  }

  public static TreeEncoder encoder(LogicalRelation scan) {
    return new TreeEncoder(Description.columns(scan), ((HadoopFsRelation) scan.relation()).partitionSchema());
  }

  /** version: of the indexes that its files are chosen by; null: not known. answers: to those who asked for the same before. */
  public void decidedBy(String version, Answers answers) {
    decisions = new Decisions(python, version, answers);
  }

  /** Other scans of the query have to read the same files, as far as the same is known of them. */
  public void reads(SameFiles same) {
    this.same = same;
  }

  /** Tells the scans of a query apart. */
  public long number() {
    return number;
  }

  /** Spark's number of the running query; "" outside of one. */
  public String executionId() {
    return Plans.executionId(asking);
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

  public Evaluator evaluator() {
    description(); // which numbers the nodes
    return trees.evaluator();
  }

  /** What Python functions of the predicate give, as long as files are chosen. */
  public PythonWorkers workers() {
    return trees.workers();
  }

  /** Finds what was asked of Python functions; outside of callbacks only. */
  public void runWorkers() {
    trees.workers().run(asking);
  }

  public FileIndex wrapped() {
    return wrapped;
  }

  public Ranges ranges(String program) throws Exception {
    description(); // as above
    return trees.ranges(program);
  }

  /** The session of the relation: that of the query, unless it reads a global view of another one. What is run for a query, the query's runs. */
  public SparkSession session() {
    return (SparkSession) relation.sparkSession();
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
    return Decisions.which(executionId(), number, true) + "\n" + told.of(listing);
  }

  /** The files that Spark would list for this scan: those of the partitions that its predicate leaves. */
  public Listing listing() {
    List partitionFilters = new ArrayList();
    List parts = predicate == null ? partitionFilters : Plans.conjuncts(predicate);
    for (int i = 0; i < parts.size(); i++) {
      if (onPartitionsOnly((Expression) parts.get(i))) partitionFilters.add(parts.get(i));
    }
    return new Listing(this, session(), files(Plans.seq(partitionFilters), Plans.noFilters()));
  }

  /**
   * The files at which Spark looks for columns and for the types of partitions, and which it does not read: empty ones, and those that lie
   * outside of all partitions.
   */
  public Listing beside() {
    List unread = new ArrayList();
    if (wrapped instanceof PartitioningAwareFileIndex) {
      scala.collection.immutable.Seq all = ((PartitioningAwareFileIndex) wrapped).allFiles();
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
    return new Listing(this, session(), new ListedFiles.BySpark(Plans.seq(Collections.singletonList(one))));
  }

  /** What the wrapped FileIndex lists. */
  private ListedFiles files(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    if (wrapped instanceof SnapshotFileIndex) return ((SnapshotFileIndex) wrapped).files(partitionFilters, dataFilters);
    return new ListedFiles.BySpark(wrapped.listFiles(partitionFilters, dataFilters));
  }

  /**
   * Whether a file that may give other rows then is cut into other parts once files are taken away: the more bytes Spark reads, the larger
   * are the parts. Which folders are read may be known later only, where a join chooses partitions.
   */
  public boolean cutsOtherwise(Listing listing) {
    boolean all = partitionSchema().isEmpty();
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

  private boolean onPartitionsOnly(Expression part) {
    if (part.references().isEmpty() || !Determinism.holds(part) || SubqueryExpression$.MODULE$.hasSubquery(part)) return false;
    scala.collection.Iterator references = part.references().iterator();
    while (references.hasNext()) {
      if (partitionSchema().getFieldIndex(((Attribute) references.next()).name()).isEmpty()) return false;
    }
    return true;
  }

  /**
   * Who lists again, as for a scan that stands in each step of a recursion or was planned anew, is given the same: by what was given, Spark
   * may have left out a sort or an exchange. Also once the index or the settings are others, as where a query runs that was planned before.
   */
  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    List filters = withoutQueries(partitionFilters, dataFilters);
    Object[] last = lastListed;
    if (last != null && filters.equals(last[0])) return (scala.collection.immutable.Seq) last[1];
    boolean alike = SessionSettings.runAlike(asking.sessionState().conf(), SQLConf$.MODULE$.get());
    boolean decides = alike && UserSettings.enabled(session().sessionState().conf());
    scala.collection.immutable.Seq found = decides ? chosen(files(partitionFilters, dataFilters)) : wrapped.listFiles(partitionFilters, dataFilters);
    lastListed = new Object[] {filters, found};
    return found;
  }

  /** The files of a listing that are to be read. */
  private scala.collection.immutable.Seq chosen(final ListedFiles all) {
    try {
      // Some of Spark's functions ask for the settings when they are called: by `rdd` and its like, while another session may be active.
      return (scala.collection.immutable.Seq) SQLConf$.MODULE$.withExistingConf(asking.sessionState().conf(), new scala.runtime.AbstractFunction0() {
        public Object apply() {
          // What Python functions answer is kept no longer than this listing.
          boolean ownWorkers = predicate != null && PythonBatches.in(predicate);
          return (ownWorkers ? with(predicate, runtimeFilters, notes) : SkippingFileIndex.this).decided(all);
        }
      });
    } catch (SmallSide.Cancelled cancelled) {
      Platform.throwException(cancelled.getCause());
      return null;
    } catch (Throwable unknown) {
      if (unknown instanceof java.io.FileNotFoundException && wrapped instanceof SnapshotFileIndex) Platform.throwException(unknown);
      return kept(new Listing(this, session(), all));
    }
  }

  private scala.collection.immutable.Seq kept(Listing listing) {
    if (same != null) same.give(this, listing);
    return listing.kept();
  }

  /** Those of some filters that choose files: what a sub-query gives is not known when they are listed. */
  private static List withoutQueries(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    List result = new ArrayList();
    scala.collection.Iterator all = ((scala.collection.Seq) partitionFilters.concat(dataFilters)).iterator();
    while (all.hasNext()) {
      Expression filter = (Expression) all.next();
      if (!SideRows.holds(filter, PlanExpression.class)) result.add(filter);
    }
    return result;
  }

  /**
   * The files that Python leaves of a listing. It may ask for Python functions, for a job over records, or for the small sides of runtime filters
   * to be run, and is asked again.
   */
  private scala.collection.immutable.Seq decided(ListedFiles all) {
    Listing listing = new Listing(this, session(), all);
    String said = said(listing);
    int without = Decisions.DECIDED.equals(said) ? 0 : listing.countKept(); // by all but Python functions, of which nothing is known yet
    while ("tasks".equals(said) || ("ask".equals(said) && PoolThreads.enter(asking.sessionState().conf()))) {
      if ("tasks".equals(said)) {
        listing.job().run(asking);
      } else {
        try {
          runWorkers();
        } finally {
          PoolThreads.leave();
        }
      }
      listing.keepAll();
      said = said(listing);
    }
    String[] toRun = Decisions.toRun(said);
    if (toRun != null) return withRuntimeFilters(toRun).decided(all);
    if (!Decisions.DECIDED.equals(said)) listing.keepAll();
    scala.collection.immutable.Seq kept = kept(listing);
    if (without > 0 && listing.countKept() >= without) trees.workers().gainedNothing();
    listing.forget(trees.withoutPlans());
    return kept;
  }

  private String said(Listing listing) {
    return decisions.of(listing, told, executionId(), number);
  }

  private SkippingFileIndex with(Expression predicate, List runtimeFilters, List notes) {
    SkippingFileIndex other = new SkippingFileIndex(number, scan, asked, predicate, runtimeFilters, notes, python, asking, time, listed);
    other.reads(same);
    return other;
  }

  /** The scan with those of its runtime filters in its predicate that are to be run. said: what that may save; of each why it is not, or "". */
  private SkippingFileIndex withRuntimeFilters(String[] said) {
    List notes = new ArrayList();
    String[] unprofitable = (String[]) java.util.Arrays.copyOfRange(said, 1, said.length);
    try {
      time.mayBeSaved(Long.parseLong(said[0]), asking);
      return with(RuntimeFilters.and(predicate, runtimeFilters, unprofitable, time, notes, asking), new ArrayList(), notes);
    } catch (Exception e) {
      return with(predicate, new ArrayList(), Collections.singletonList("no join is used: " + e));
    }
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
      affordable = runtimeFilters.isEmpty() ? runtimeFilters : RuntimeFilters.affordable(runtimeFilters, wrapped);
    }
    return affordable;
  }

  /** Why runtime filters may not be run, and no contract is followed, for people. */
  public List whyLess() {
    List why = new ArrayList(RuntimeFilters.whyNotAffordable(runtimeFilters, asking.sessionState().conf(), wrapped.sizeInBytes()));
    if (listed != null) why.add(listed);
    return why;
  }

  /** Whether the files are by a contract that a setting asks for, or the property of a table. */
  public boolean isBySetting() {
    return wrapped instanceof SnapshotFileIndex && ((SnapshotFileIndex) wrapped).isBySetting();
  }

  /** Whether such a contract is told of, followed or not. */
  public boolean isTold() {
    return listed != null || isBySetting();
  }

  /** EXPLAIN FORMATTED tells of a FileIndex its root paths alone: so there, and for nobody else, the first of them tells the clause. */
  public scala.collection.immutable.Seq rootPaths() {
    List paths = new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(wrapped.rootPaths()));
    if (!paths.isEmpty()) paths.set(0, new ExplainedPath((Path) paths.get(0), this));
    return Plans.seq(paths);
  }

  public String[] inputFiles() {
    return wrapped.inputFiles();
  }

  public void refresh() {
    wrapped.refresh();
    lastListed = null;
  }

  public long sizeInBytes() {
    return wrapped.sizeInBytes();
  }

  public StructType partitionSchema() {
    return wrapped.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return wrapped.metadataOpsTimeNs();
  }

  /** The clause, for people. A running query asks for it at its start, at its end and at every step between: it is told the same text. */
  public String toString() {
    String execution = Plans.executionId(session());
    String[] last = lastExplained;
    if (!execution.isEmpty() && last != null && execution.equals(last[0])) return last[1];
    try {
      String files = wrapped instanceof SnapshotFileIndex ? wrapped + "; " : listed == null ? "" : listed + "; ";
      last = new String[] {execution, files + "skipping: " + explained()};
    } catch (Throwable unknown) {
      return "skipping: unknown";
    }
    lastExplained = last;
    return last[1];
  }

  private Object explained() {
    String number = Kept.keep(this);
    try {
      return python.apply("explain\n" + number + "\n" + told.ofScan() + "\n" + description(), null);
    } finally {
      Kept.forget(number);
    }
  }

  /** Two scans may share one result when they list the same files, and the same is known of their rows. */
  public boolean equals(Object other) {
    if (!(other instanceof SkippingFileIndex)) return false;
    SkippingFileIndex that = (SkippingFileIndex) other;
    boolean same = wrapped.equals(that.wrapped) && asking == that.asking && session() == that.session();
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
    return wrapped.hashCode();
  }
}
