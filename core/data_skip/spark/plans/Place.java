package data_skip;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** An operator at its place in a plan: the same one may stand at several. */
public final class Place {
  public final LogicalPlan plan;
  public final LogicalPlan asks; // the same as of AsRun: what it asks of rows, and Spark compares
  public final Place parent; // null at the root of a plan, and of a sub-query
  public final int side; // which of the parent's children
  public final List children = new ArrayList();
  public final Map subqueries = new IdentityHashMap(); // its SubqueryExpressions -> the roots of their plans
  public final Map repeating = new IdentityHashMap(); // those that repeat the other side of a join -> the place on this side of it
  public int height;
  public int shape; // plans that the optimizer leaves equal have equal ones: the kinds of their operators, and how many columns their scans have
  public boolean byRow; // whether all that it stands on takes rows as they lie
  public boolean sampled; // whether a sample is taken of what is made of its rows
  public PushedDown given = PushedDown.NOTHING; // what is known of its rows by what stands above it
  public LogicalPlan rewritten;
  private LogicalPlan compared;

  public Place(LogicalPlan plan, LogicalPlan asks, Place parent, int side) {
    this.plan = plan;
    this.asks = asks;
    this.parent = parent;
    this.side = side;
  }

  /** Which of its columns are asked for by what stands above it; null: all. */
  public AttributeSet asked() {
    AttributeSet found = AttributeSet$.MODULE$.empty();
    for (Place at = parent; at != null; at = at.parent) {
      if (!(at.plan instanceof Filter) && !(at.plan instanceof Project)) return null;
      found = found.$plus$plus(at.plan.references());
      if (at.plan instanceof Project) return found;
    }
    return null;
  }

  /** The same as far as Spark compares it. */
  public LogicalPlan compared() {
    if (compared == null) compared = Compared.of(asks);
    return compared;
  }

  public Place child(int side) {
    return (Place) children.get(side);
  }
}
