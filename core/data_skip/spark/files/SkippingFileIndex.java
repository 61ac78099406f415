package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FilePartition$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * A FileIndex that lists what the wrapped one lists, less the files which Python proves to hold no row of this scan's
 * predicate. Where Python fails, every file stays.
 */
public final class SkippingFileIndex implements FileIndex, SmallSide.Wrapper {
  private static final java.util.concurrent.atomic.AtomicLong COUNTER = new java.util.concurrent.atomic.AtomicLong();

  private final long number;
  private final FileIndex wrapped;
  private final HadoopFsRelation relation;
  private final BiFunction python;
  private final TreeEncoder encoder;
  private final LogicalRelation scan;
  private final Expression predicate;
  private final List runtimeFilters;
  private final List notes;
  private String description;
  private final SparkSession asking; // the query's; the relation may be of another
  private final PythonWorkers workers = new PythonWorkers();
  private volatile Object known; // of its rows, in a form that is equal for equal scans
  private volatile String[] lastExplained; // the running query that asked last, and what it was told

  /** A scan whose rows all satisfy the predicate (null: nothing is known of them), and each of its runtime filters once it is known. */
  public SkippingFileIndex(
      LogicalRelation scan, Expression predicate, List runtimeFilters, BiFunction python, SparkSession asking) {
    this(COUNTER.incrementAndGet(), scan, predicate, runtimeFilters, new ArrayList(), python, asking);
  }

  private SkippingFileIndex(
      long number, LogicalRelation scan, Expression predicate, List runtimeFilters, List notes, BiFunction python, SparkSession asking) {
    this.number = number;
    this.asking = asking;
    this.scan = scan;
    this.runtimeFilters = runtimeFilters;
    this.relation = (HadoopFsRelation) scan.relation();
    this.wrapped = relation.location();
    this.python = python;
    this.encoder = encoder(scan);
    this.predicate = predicate;
    this.notes = notes;
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

  /** JSON: the root paths; of a catalog table first its location. */
  public String roots() {
    Connection.answersAtOnce();
    return Plans.json(Description.roots(scan));
  }

  /**
   * JSON: format, options, schema, the encoded predicate, the runtime filters, notes, and how long a decision may take. Made when it is first
   * asked for: scans of tables without an index are many.
   */
  public synchronized String description() {
    Connection.answersAtOnce();
    if (description == null) {
      Map json = Description.of(scan);
      json.put("predicate", predicate == null ? null : encoder.encode(predicate));
      json.put("runtime_filters", Description.of(runtimeFilters, scan));
      json.put("notes", notes);
      json.put("decide_seconds", new Double(UserSettings.decideSeconds(asking.sessionState().conf())));
      description = Plans.json(json);
    }
    return description;
  }

  public Evaluator evaluator() {
    description(); // which numbers the nodes
    return new Evaluator(encoder.nodes, workers);
  }

  /** What Python functions of the predicate give, as long as files are chosen. */
  public PythonWorkers workers() {
    return workers;
  }

  /** Finds what was asked of Python functions; outside of callbacks only. */
  public void runWorkers() {
    workers.run(asking);
  }

  public FileIndex wrapped() {
    return wrapped;
  }

  public Ranges ranges(String program) throws Exception {
    return new Ranges(evaluator(), program);
  }

  /** The session of the relation: that of the query, unless it reads a global view of another one. What is run for a query, the query's runs. */
  public SparkSession session() {
    return (SparkSession) relation.sparkSession();
  }

  /**
   * JSON: what is set in the session of the relation, by which Spark configures its reader, and (null where it is the same) in that of the
   * query, which readers and expressions ask as well. `prefixes`: of keys of Hadoop's libraries, separated by commas.
   */
  public String settings(String prefixes) {
    org.apache.spark.sql.internal.SQLConf own = session().sessionState().conf();
    Map result = new LinkedHashMap();
    result.put("relation", settings(own, prefixes));
    org.apache.spark.sql.internal.SQLConf conf = asking.sessionState().conf();
    result.put("query", conf == own ? null : settings(conf, prefixes));
    return Plans.json(result);
  }

  private Map settings(org.apache.spark.sql.internal.SQLConf of, String prefixes) {
    SessionSettings settings = new SessionSettings(of);
    Map result = settings.explicit(session().sparkContext().hadoopConfiguration(), prefixes);
    result.putAll(settings.effective());
    return result;
  }

  /** The files that Spark would list for this scan: those of the partitions that its predicate leaves. */
  public Listing listing() {
    List partitionFilters = new ArrayList();
    List parts = predicate == null ? partitionFilters : Plans.conjuncts(predicate);
    for (int i = 0; i < parts.size(); i++) {
      if (onPartitionsOnly((Expression) parts.get(i))) partitionFilters.add(parts.get(i));
    }
    return new Listing(this, session(), wrapped.listFiles(Plans.seq(partitionFilters), Plans.noFilters()));
  }

  /**
   * Whether a file that may give other rows then is cut into other parts once files are taken away: the more bytes Spark reads, the larger
   * are the parts. Which folders are read may be known later only, where a join chooses partitions.
   */
  public boolean cutsOtherwise(Listing listing) {
    boolean all = partitionSchema().isEmpty();
    long size = partSize(all ? listing.kept() : Plans.seq(new ArrayList()));
    if (all && size == partSize(listing.directories())) return false;
    scala.collection.immutable.Map options = relation.options();
    List paths = listing.unsteady(size);
    for (int i = 0; i < paths.size(); i++) if (relation.fileFormat().isSplitable(session(), options, (Path) paths.get(i))) return true;
    return false;
  }

  private long partSize(scala.collection.immutable.Seq directories) {
    return FilePartition$.MODULE$.maxSplitBytes(session(), directories);
  }

  private boolean onPartitionsOnly(Expression part) {
    if (part.references().isEmpty() || !part.deterministic() || SubqueryExpression$.MODULE$.hasSubquery(part)) return false;
    scala.collection.Iterator references = part.references().iterator();
    while (references.hasNext()) {
      if (partitionSchema().getFieldIndex(((Attribute) references.next()).name()).isEmpty()) return false;
    }
    return true;
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    final scala.collection.immutable.Seq all = wrapped.listFiles(partitionFilters, dataFilters);
    if (!UserSettings.enabled(session().sessionState().conf())) return all;
    try {
      // Some of Spark's functions ask for the settings when they are called: by `rdd` and its like, while another session may be active.
      return (scala.collection.immutable.Seq) SQLConf$.MODULE$.withExistingConf(asking.sessionState().conf(), new scala.runtime.AbstractFunction0() {
        public Object apply() {
          SkippingFileIndex scan = resolved(all);
          return scan.decided(new Listing(scan, session(), all));
        }
      });
    } catch (SmallSide.Cancelled cancelled) {
      Platform.throwException(cancelled.getCause());
      return null;
    } catch (Throwable unknown) {
      return all;
    }
  }

  /** The files that Python leaves of a listing. It may ask for Python functions to be run, and is asked again. */
  private scala.collection.immutable.Seq decided(Listing listing) {
    Object said = python.apply("list", listing);
    while ("ask".equals(said)) {
      runWorkers();
      listing.keepAll();
      said = python.apply("list", listing);
    }
    if (!"decided".equals(said)) listing.keepAll();
    return listing.kept();
  }

  /** The scan with its runtime filters, as far as running their small sides is allowed, and worth it: that is for Python to say. */
  private SkippingFileIndex resolved(scala.collection.immutable.Seq all) {
    Object said = runtimeFilters.isEmpty() ? null : python.apply("runtime_filters", new Listing(this, session(), all));
    List notes = new ArrayList();
    boolean ownWorkers = predicate != null && PythonBatches.in(predicate); // what they answer is kept no longer than this listing
    if (said == null) return ownWorkers ? new SkippingFileIndex(number, scan, predicate, runtimeFilters, notes, python, asking) : this;
    try {
      return new SkippingFileIndex(number, scan, withRuntimeFilters(said.toString().split("\n", -1), notes), new ArrayList(), notes, python, asking);
    } catch (Exception e) {
      return new SkippingFileIndex(number, scan, predicate, new ArrayList(), Collections.singletonList("no join is used: " + e), python, asking);
    }
  }

  /** The predicate with those of the runtime filters that are worth running. `notes` is told what became of each. */
  private Expression withRuntimeFilters(String[] unprofitable, List notes) {
    Expression all = predicate;
    for (int i = 0; i < runtimeFilters.size(); i++) {
      RuntimeFilter one = (RuntimeFilter) runtimeFilters.get(i);
      String refusal = one.refusal(asking.sessionState().conf());
      if (refusal == null && !unprofitable[i].isEmpty()) refusal = unprofitable[i];
      if (refusal != null) {
        notes.add(one.sql() + " is not used: " + refusal);
        continue;
      }
      long start = System.nanoTime();
      try {
        Expression found = one.resolve(asking);
        if (found != null) all = all == Literal$.MODULE$.TrueLiteral() ? found : new And(all, found);
        notes.add(one.sql() + ": " + one.side() + " was run first, in " + (System.nanoTime() - start) / 1000000 + " ms");
      } catch (Exception e) {
        notes.add(one.sql() + " is not used: running " + one.side() + " failed: " + e);
      }
    }
    return all;
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

  /** A Path in everything but its form in EXPLAIN FORMATTED: listeners, who ask what a query reads, are given a path. */
  private static final class ExplainedPath extends Path {
    private final transient SkippingFileIndex scan;

    ExplainedPath(Path path, SkippingFileIndex scan) {
      super(path.toUri());
      this.scan = scan;
    }

    public String toString() {
      return scan != null && isExplained() ? super.toString() + " " + scan : super.toString();
    }

    private static boolean isExplained() {
      StackTraceElement[] callers = new Throwable().getStackTrace();
      for (int i = 0; i < callers.length; i++) {
        String method = callers[i].getMethodName();
        if (method.contains("buildLocationMetadata")) return false; // which is kept, and told to listeners
        if (method.contains("verboseStringWithOperatorId")) return true;
      }
      return false;
    }
  }

  /** The clause, for people. A running query asks for it at its start, at its end and at every step between: it is told the same text. */
  public String toString() {
    String execution = Plans.executionId(session());
    String[] last = lastExplained;
    if (!execution.isEmpty() && last != null && execution.equals(last[0])) return last[1];
    try {
      last = new String[] {execution, "skipping: " + python.apply("explain", this)};
    } catch (Throwable unknown) {
      return "skipping: unknown";
    }
    lastExplained = last;
    return last[1];
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
