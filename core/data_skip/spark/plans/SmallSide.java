package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.unsafe.Platform;

/**
 * A part of the query that is run by itself before the files of another part are listed: one side of a join, or a sub-query. Spark runs it
 * again for the join: see Repeatable and SideCost.
 */
public final class SmallSide {
  private static final ThreadLocal RUNNING = new ThreadLocal();
  private static final String KEYS = "data-skip: keys of a join";
  private static final String DESCRIPTION = "spark.job.description"; // the property of a thread that SparkContext keeps it in

  private SmallSide() {}

  /** Somebody has cancelled what was run: then the query that it was run for ends as well, with what Spark raised. */
  public static final class Cancelled extends Error {
    public Cancelled(Throwable raised) {
      super(String.valueOf(raised.getMessage()), raised);
    }
  }

  /** Whether this thread is planning a small side. */
  public static boolean running() {
    return RUNNING.get() != null;
  }

  /**
   * The distinct values of some expressions over a plan's rows, of up to so many rows. exact: equal values are the same, so that Spark may
   * group by them; else 'z' would stand for 'Z', or 0.0 for -0.0.
   */
  public static InternalRow[] distinct(SparkSession session, LogicalPlan plan, List expressions, boolean exact, int limit) {
    Dataset values = values(session, plan, expressions);
    if (exact && !SessionWindows.changeIfGrouped(plan, expressions)) return run(values.distinct().limit(limit), KEYS);
    InternalRow[] rows = run(values.limit(limit), KEYS);
    if (rows.length == limit) return rows;
    return (InternalRow[]) new java.util.LinkedHashSet(java.util.Arrays.asList(rows)).toArray(new InternalRow[0]); // rows of bytes
  }

  /** The smallest and the largest value of each expression over a plan's rows, side by side in one row; null where they may be those of others. */
  public static InternalRow extremes(SparkSession session, LogicalPlan plan, List expressions) {
    if (SessionWindows.changeIfGrouped(plan, expressions)) return null;
    String[] ends = new String[2 * expressions.size()];
    for (int i = 0; i < expressions.size(); i++) {
      ends[2 * i] = "min(v" + i + ")";
      ends[2 * i + 1] = "max(v" + i + ")";
    }
    return run(values(session, plan, expressions).selectExpr(ends), KEYS)[0];
  }

  /** The rows of a plan. */
  public static InternalRow[] rows(SparkSession session, LogicalPlan plan) {
    return run(Dataset$.MODULE$.ofRows(session, SameColumns.of(plan)), KEYS);
  }

  private static Dataset values(SparkSession session, LogicalPlan plan, List expressions) {
    return Dataset$.MODULE$.ofRows(session, new Project(Plans.seq(named(expressions)), SameColumns.of(plan)));
  }

  /**
   * A part of an optimised plan may equal what the user has cached, as the query's own plan did not before it was optimised. Then Spark would
   * take rows of the cache, which may be older than those that the query reads.
   */
  private static void refuseOtherCaches(QueryExecution execution) {
    Set other = caches(execution.withCachedData());
    other.removeAll(caches(execution.analyzed()));
    if (!other.isEmpty()) throw new IllegalStateException("Spark would read a cache for it that the query does not read");
  }

  /** What makes the rows of each cache that a plan reads. */
  private static Set caches(LogicalPlan plan) {
    Set found = Collections.newSetFromMap(new IdentityHashMap());
    if (plan instanceof InMemoryRelation) found.add(((InMemoryRelation) plan).cacheBuilder());
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) found.addAll(caches((LogicalPlan) children.next()));
    return found;
  }

  /**
   * From now on Spark's UI shows by this what the thread starts; what it has shown so far. A name that a query itself is given is shown nowhere,
   * and has the user's QueryExecutionListeners told of it, and of its failure, as of a query of the user's.
   */
  public static String describe(SparkContext context, String description) {
    String before = context.getLocalProperty(DESCRIPTION);
    context.setLocalProperty(DESCRIPTION, description);
    return before;
  }

  /** The rows of a query, which Spark's UI shows by a description. */
  public static InternalRow[] run(Dataset rows, String description) {
    final QueryExecution execution = rows.queryExecution();
    SparkContext context = execution.sparkSession().sparkContext();
    String tags = TimeLimit.tags(context);
    String before = describe(context, description);
    RUNNING.set(Boolean.TRUE);
    try {
      refuseOtherCaches(execution);
      return (InternalRow[]) SQLExecution$.MODULE$.withNewExecutionId(
          execution, scala.Option.empty(), new scala.runtime.AbstractFunction0() {
            public Object apply() {
              return execution.executedPlan().executeCollect();
            }
          });
    } catch (Throwable raised) {
      if (isCancelled(raised)) throw new Cancelled(raised);
      Platform.throwException(raised);
      return null;
    } finally {
      RUNNING.remove();
      describe(context, before);
      TimeLimit.tags(context, tags); // of a query in a query, Spark takes the session's away at its end, by which its user interrupts both
    }
  }

  /** By its group, its tag or Spark's listing of jobs, or since this thread was interrupted. */
  public static boolean isCancelled(Throwable raised) {
    if (raised == null) return false;
    if (raised instanceof InterruptedException || String.valueOf(raised.getMessage()).startsWith("[SPARK_JOB_CANCELLED]")) return true;
    Throwable[] others = raised.getSuppressed(); // of stages that failed together
    for (int i = 0; i < others.length; i++) if (isCancelled(others[i])) return true;
    return isCancelled(raised.getCause());
  }

  private static List named(List expressions) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) result.add(Plans.alias((Expression) expressions.get(i), "v" + i));
    return result;
  }
}
