package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;

/**
 * A part of the query that is run by itself before the files of another part are listed: one side of a join, or a sub-query.
 *
 * Spark runs it again for the join. So only what surely gives the same rows twice is fit: known operators over lists of files that
 * are fixed, caches and literal rows; no LIMIT, nothing random, no sum of floating point numbers, whose last digits depend on the order.
 */
public final class SmallSide {
  private static final ThreadLocal RUNNING = new ThreadLocal();

  private SmallSide() {}

  /** A FileIndex that lists some of the files of another one. */
  public interface Wrapper {
    FileIndex wrapped();
  }

  /** Whether this thread is planning a small side. */
  public static boolean running() {
    return RUNNING.get() != null;
  }

  /** Why a plan may give other rows when it is run again; null where it surely gives the same. */
  public static String unrepeatable(LogicalPlan plan) {
    if (plan.isStreaming()) return "it is a stream";
    if (plan instanceof LogicalRelation) return fixed((LogicalRelation) plan) ? null : "it reads another source than a fixed list of files";
    boolean leaf = plan instanceof LocalRelation || plan instanceof Range || plan instanceof OneRowRelation || plan instanceof InMemoryRelation;
    boolean known = plan instanceof Project || plan instanceof Filter || plan instanceof Aggregate || plan instanceof Join;
    if (!leaf && !known && !(plan instanceof Union) && !(plan instanceof Distinct) && !(plan instanceof SubqueryAlias)) {
      return plan.nodeName() + " may give other rows each time";
    }
    scala.collection.Iterator expressions = leaf ? scala.collection.Iterator$.MODULE$.empty() : plan.expressions().iterator();
    while (expressions.hasNext()) {
      String why = unrepeatable((Expression) expressions.next());
      if (why != null) return why;
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      String why = unrepeatable((LogicalPlan) children.next());
      if (why != null) return why;
    }
    return null;
  }

  private static boolean fixed(LogicalRelation relation) {
    if (!(relation.relation() instanceof HadoopFsRelation)) return false;
    FileIndex location = ((HadoopFsRelation) relation.relation()).location();
    if (location instanceof Wrapper) location = ((Wrapper) location).wrapped();
    return location instanceof PartitioningAwareFileIndex;
  }

  private static String unrepeatable(Expression expression) {
    if (!expression.deterministic()) return "it is not deterministic";
    if (expression instanceof PythonUDF) return "it calls a Python function";
    if (expression instanceof PlanExpression) return "it holds a sub-query";
    if (expression instanceof AggregateExpression) {
      Object function = ((AggregateExpression) expression).aggregateFunction();
      boolean real = expression.dataType() instanceof DoubleType || expression.dataType() instanceof FloatType;
      boolean exact = function instanceof Min || function instanceof Max || function instanceof Count;
      if (!exact && (real || !(function instanceof Sum || function instanceof Average))) return "an aggregate may depend on the order of rows";
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      String why = unrepeatable((Expression) children.next());
      if (why != null) return why;
    }
    return null;
  }

  /** How many bytes running the plan may read. */
  public static long bytes(LogicalPlan plan) {
    if (plan.children().isEmpty()) {
      scala.math.BigInt size = plan.stats().sizeInBytes();
      return size.isValidLong() ? size.toLong() : Long.MAX_VALUE;
    }
    long total = 0;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      long bytes = bytes((LogicalPlan) children.next());
      total = total > Long.MAX_VALUE - bytes ? Long.MAX_VALUE : total + bytes;
    }
    return total;
  }

  /** The distinct values of some expressions over a plan's rows, up to a limit. */
  public static InternalRow[] distinct(SparkSession session, LogicalPlan plan, List expressions, int limit) {
    return run(values(session, plan, expressions).distinct().limit(limit));
  }

  /** The smallest and the largest value of each expression over a plan's rows, side by side in one row. */
  public static InternalRow extremes(SparkSession session, LogicalPlan plan, List expressions) {
    String[] ends = new String[2 * expressions.size()];
    for (int i = 0; i < expressions.size(); i++) {
      ends[2 * i] = "min(v" + i + ")";
      ends[2 * i + 1] = "max(v" + i + ")";
    }
    return run(values(session, plan, expressions).selectExpr(ends))[0];
  }

  /** The rows of a plan. */
  public static InternalRow[] rows(SparkSession session, LogicalPlan plan) {
    return run(Dataset$.MODULE$.ofRows(session, plan));
  }

  private static Dataset values(SparkSession session, LogicalPlan plan, List expressions) {
    return Dataset$.MODULE$.ofRows(session, new Project(Plans.seq(named(expressions)), plan));
  }

  private static InternalRow[] run(Dataset rows) {
    RUNNING.set(Boolean.TRUE);
    try {
      final QueryExecution execution = rows.queryExecution();
      return (InternalRow[]) SQLExecution$.MODULE$.withNewExecutionId(
          execution, scala.Option.apply("data-skip: keys of a join"), new scala.runtime.AbstractFunction0() {
            public Object apply() {
              return execution.executedPlan().executeCollect();
            }
          });
    } finally {
      RUNNING.remove();
    }
  }

  private static List named(List expressions) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) {
      scala.collection.immutable.Seq none = Plans.noFilters();
      result.add(new Alias((Expression) expressions.get(i), "v" + i, NamedExpression$.MODULE$.newExprId(), none, scala.Option.apply(null), none));
    }
    return result;
  }
}
