package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * What running a part of a query costs: an estimate before it is run, in bytes that are read. How many rows a join makes of its sides, and
 * what an expression takes, nobody knows before: for that there is a TimeLimit.
 */
public final class SideCost {
  public static final long BYTES_A_SECOND = 100000000; // that a core reads
  private static final int BYTES_OF_A_PAIR = 10; // of rows that are compared: a tenth of a microsecond, in which so many are read

  private SideCost() {}

  /**
   * What some columns (null: all) of the plan's rows cost: the columns that are read of files; and where a join compares all rows of one side
   * with all of the other, as many bytes as take the time of a pair.
   */
  public static long bytes(LogicalPlan plan, AttributeSet asked) {
    if (plan instanceof LogicalRelation && ScannedFiles.listed((LogicalRelation) plan) != null) return ScannedFiles.bytes((LogicalRelation) plan, asked);
    if (plan.children().isEmpty()) return times(plan.stats().sizeInBytes(), 1);
    long total = comparesAll(plan) ? pairs((LogicalPlan) plan.children().head(), (LogicalPlan) plan.children().last()) : 0;
    AttributeSet below = SameColumns.below(plan, asked);
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      long bytes = bytes((LogicalPlan) children.next(), below);
      total = total > Long.MAX_VALUE - bytes ? Long.MAX_VALUE : total + bytes;
    }
    return total;
  }

  /**
   * Whether running the plan makes the rows of a cache, which the query reads as well: no work is lost, and to end it may leave the cache with
   * an error that Spark raises again (SPARK-49982).
   */
  public static boolean fillsCache(LogicalPlan plan) {
    if (plan instanceof InMemoryRelation && !((InMemoryRelation) plan).cacheBuilder().isCachedColumnBuffersLoaded()) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (fillsCache((LogicalPlan) children.next())) return true;
    return false;
  }

  /** Whether running the plan may wait for another thread of Spark's, as that of a broadcast. */
  public static boolean waits(LogicalPlan plan) {
    if (plan instanceof Join) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (waits((LogicalPlan) children.next())) return true;
    return fillsCache(plan);
  }

  private static long times(scala.math.BigInt size, long factor) {
    scala.math.BigInt product = size.$times(scala.math.BigInt$.MODULE$.long2bigInt(factor));
    return product.isValidLong() ? product.toLong() : Long.MAX_VALUE;
  }

  /** Whether a join has no equality of both sides by which Spark finds the rows that match. */
  private static boolean comparesAll(LogicalPlan plan) {
    if (!(plan instanceof Join)) return false;
    List parts = ((Join) plan).condition().isEmpty() ? new ArrayList() : Plans.conjuncts((Expression) ((Join) plan).condition().get());
    for (int i = 0; i < parts.size(); i++) {
      if (!(parts.get(i) instanceof EqualTo) && !(parts.get(i) instanceof EqualNullSafe)) continue;
      Expression one = (Expression) ((Expression) parts.get(i)).children().head();
      Expression other = (Expression) ((Expression) parts.get(i)).children().last();
      if (isOfEach(one, other, (Join) plan) || isOfEach(other, one, (Join) plan)) return false;
    }
    return true;
  }

  private static boolean isOfEach(Expression one, Expression other, Join join) {
    return one.references().subsetOf(join.left().outputSet()) && other.references().subsetOf(join.right().outputSet());
  }

  private static long pairs(LogicalPlan left, LogicalPlan right) {
    return times(rows(left).$times(rows(right)), BYTES_OF_A_PAIR);
  }

  private static scala.math.BigInt rows(LogicalPlan plan) {
    if (plan.stats().rowCount().isDefined()) return (scala.math.BigInt) plan.stats().rowCount().get();
    return plan.stats().sizeInBytes().$div(scala.math.BigInt$.MODULE$.int2bigInt(8 + DataTypeUtils$.MODULE$.fromAttributes(plan.output()).defaultSize()));
  }
}
