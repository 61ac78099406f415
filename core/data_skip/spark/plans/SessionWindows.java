package data_skip;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SessionWindow$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Keys of a GROUP BY that are made by `session_window`. Spark's planner makes one of those that overlap (AggUtils), which no logical plan says: it
 * tells them by a marker in the metadata of a key, which files keep as well. Its optimizer does not know of it.
 */
public final class SessionWindows {
  private SessionWindows() {}

  /** Whether Spark takes a key for a session: what is true of it need not be true of the rows that it is made of. */
  public static boolean is(Expression key) {
    return Plans.alias(key, "").metadata().contains(SessionWindow$.MODULE$.marker());
  }

  /**
   * Whether the rows of a plan, or what expressions make of them, may be other ones below one more GROUP BY or aggregate. Of its own keys Spark would
   * make sessions; and it takes one below it away (RemoveRedundantAggregates), with the sessions that this one makes.
   */
  public static boolean changeIfGrouped(LogicalPlan plan, List expressions) {
    for (int i = 0; i < expressions.size(); i++) if (is((Expression) expressions.get(i))) return true;
    return areMade(plan);
  }

  private static boolean areMade(LogicalPlan plan) {
    if (plan instanceof Aggregate) {
      scala.collection.Iterator keys = ((Aggregate) plan).groupingExpressions().iterator();
      while (keys.hasNext()) if (is((Expression) keys.next())) return true;
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (areMade((LogicalPlan) children.next())) return true;
    return false;
  }
}
