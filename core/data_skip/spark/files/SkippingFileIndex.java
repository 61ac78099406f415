package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * A FileIndex that lists what the wrapped one lists, less the files which Python proves to hold no row of this scan's
 * predicate. Where Python fails, every file stays.
 */
public final class SkippingFileIndex implements FileIndex, ScannedFiles.Wrapper {
  private final AskedScan scan;
  private final FileIndex wrapped;
  private final Decisions decisions;
  private final SameFiles same; // as those that other scans of the query read; null: it matters to none
  private volatile String[] lastExplained; // the running query that asked last, and what it was told
  private volatile Object[] lastListed; // by which filters it was listed last, and what was given

  /** same: other scans of the query have to read the same files, as far as the same is known of them; null: none has to. */
  public SkippingFileIndex(AskedScan scan, Decisions decisions, SameFiles same) {
    this.scan = scan;
    this.wrapped = scan.location();
    this.decisions = decisions;
    this.same = same;
  }

  public AskedScan scan() {
    return scan;
  }

  public FileIndex wrapped() {
    return wrapped;
  }

  /**
   * Who lists again, as for a scan that stands in each step of a recursion or was planned anew, is given the same: by what was given, Spark
   * may have left out a sort or an exchange. Also once the index or the settings are others, as where a query runs that was planned before.
   */
  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    List filters = withoutQueries(partitionFilters, dataFilters);
    Object[] last = lastListed;
    if (last != null && filters.equals(last[0])) return (scala.collection.immutable.Seq) last[1];
    boolean alike = SessionSettings.runAlike(scan.asking().sessionState().conf(), SQLConf$.MODULE$.get());
    boolean decides = alike && UserSettings.enabled(scan.session().sessionState().conf());
    scala.collection.immutable.Seq found = decides ? chosen(scan.files(partitionFilters, dataFilters)) : wrapped.listFiles(partitionFilters, dataFilters);
    lastListed = new Object[] {filters, found};
    return found;
  }

  /** Those of some filters that choose files: what a sub-query gives is not known when they are listed. */
  private static List withoutQueries(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    List result = new ArrayList();
    scala.collection.Iterator all = ((scala.collection.Seq) partitionFilters.concat(dataFilters)).iterator();
    while (all.hasNext()) {
      Expression filter = (Expression) all.next();
      if (!Plans.holds(filter, PlanExpression.class)) result.add(filter);
    }
    return result;
  }

  /** The files of a listing that are to be read. */
  private scala.collection.immutable.Seq chosen(final ListedFiles all) {
    try {
      // Some of Spark's functions ask for the settings when they are called: by `rdd` and its like, while another session may be active.
      return (scala.collection.immutable.Seq) SQLConf$.MODULE$.withExistingConf(scan.asking().sessionState().conf(), new scala.runtime.AbstractFunction0() {
        public Object apply() {
          // What Python functions answer is kept no longer than this listing.
          return scan.hasPython() ? decided(scan.anew(), decisions.unremembered(), all) : decided(scan, decisions, all);
        }
      });
    } catch (SmallSide.Cancelled cancelled) {
      Platform.throwException(cancelled.getCause());
      return null;
    } catch (Throwable unknown) {
      if (unknown instanceof java.io.FileNotFoundException && wrapped instanceof SnapshotFileIndex) Platform.throwException(unknown);
      return kept(scan, scan.listing(all));
    }
  }

  /**
   * The files that Python leaves of a listing. It may ask for Python functions, for a job over records, or for the small sides of runtime filters
   * to be run, and is asked again.
   */
  private scala.collection.immutable.Seq decided(AskedScan scan, Decisions decisions, ListedFiles all) {
    Listing listing = scan.listing(all);
    String said = decisions.of(listing, scan);
    int without = Decisions.DECIDED.equals(said) ? 0 : listing.countKept(); // by all but Python functions, of which nothing is known yet
    while ("tasks".equals(said) || ("ask".equals(said) && PoolThreads.enter(scan.asking().sessionState().conf()))) {
      if ("tasks".equals(said)) {
        listing.job().run(scan.asking());
      } else {
        try {
          scan.runWorkers();
        } finally {
          PoolThreads.leave();
        }
      }
      listing.keepAll();
      said = decisions.of(listing, scan);
    }
    String[] toRun = Decisions.toRun(said);
    if (toRun != null) return decided(scan.withRuntimeFilters(toRun), decisions.unremembered(), all);
    if (!Decisions.DECIDED.equals(said)) listing.keepAll();
    scala.collection.immutable.Seq kept = kept(scan, listing);
    if (without > 0 && listing.countKept() >= without) scan.workers().gainedNothing();
    scan.forget(listing);
    return kept;
  }

  private scala.collection.immutable.Seq kept(AskedScan scan, Listing listing) {
    if (same != null) same.give(scan, listing);
    return listing.kept();
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
    String execution = Plans.executionId(scan.session());
    String[] last = lastExplained;
    if (!execution.isEmpty() && last != null && execution.equals(last[0])) return last[1];
    try {
      String files = wrapped instanceof SnapshotFileIndex ? wrapped + "; " : scan.whyListed() == null ? "" : scan.whyListed() + "; ";
      last = new String[] {execution, files + "skipping: " + decisions.explained(scan)};
    } catch (Throwable unknown) {
      return "skipping: unknown";
    }
    lastExplained = last;
    return last[1];
  }

  /** Two scans may share one result when they list the same files, and the same is known of their rows. */
  public boolean equals(Object other) {
    return other instanceof SkippingFileIndex && scan.equals(((SkippingFileIndex) other).scan);
  }

  public int hashCode() {
    return wrapped.hashCode();
  }
}
