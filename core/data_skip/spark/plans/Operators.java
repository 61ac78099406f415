package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.Cross$;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;

/**
 * What an operator lets through of what is known of its rows, to the rows below, and what it adds.
 *
 * Only operators that keep, of each row below, the row with the same values or nothing: Filter, deterministic Project, Union, Sort,
 * repartitioning, the extraction of Python UDFs, and Generate, where a row gives the same without others, for the columns that it passes
 * on, and for those that it generates as `exists(array, x -> ...)`; aggregates and windows, for what is alike in all rows of a group; and
 * joins, to a side of which a row that is not kept would give nothing. Others (limits, ...) let nothing through. Nor does, as in Spark, one
 * that is not deterministic: what it gives a row, or a group, depends on those before. Of aggregate functions like first(x) that depends on
 * the group alone, of which all is kept.
 */
public final class Operators {
  private Operators() {}

  /** What is known of the rows of a plan's child, from what is known of the plan's own rows. */
  public static PushedDown below(LogicalPlan plan, int side, PushedDown pushed) {
    if (plan instanceof Sort || plan instanceof RepartitionOperation) return pushed;
    if (!deterministic(plan.expressions(), Groups.of(plan))) pushed = PushedDown.NOTHING;
    if (plan instanceof BaseEvalPython && dependOnOthers(plan)) return PushedDown.NOTHING;
    if (plan instanceof Filter) return belowFilter(((Filter) plan).condition(), pushed);
    if (plan instanceof Generate && !Generators.givesAlone((Expression) ((Generate) plan).generator())) return PushedDown.NOTHING;
    if (plan instanceof Generate) return pushed.and(Generators.below((Generate) plan, pushed.predicates()));
    if (plan instanceof Join) return belowJoin((Join) plan, side, pushed);
    if (plan instanceof Project || plan instanceof BaseEvalPython) return pushed.below(Substitution.computed(plan));
    if (!Groups.of(plan) && !(plan instanceof Union)) return PushedDown.NOTHING;
    // Of rows that are taken together, what is asked of all of them alike; of a union, what is asked of each of its parts.
    Map names = Groups.of(plan) ? Groups.keys(plan) : Substitution.renamed(plan, (LogicalPlan) plan.children().apply(side));
    return pushed.about(Groups.attributes(plan, names)).below(names);
  }

  /** Whether Python functions give a row something else without others of a batch: those that a predicate above leaves out are given to them. */
  private static boolean dependOnOthers(LogicalPlan python) {
    scala.collection.Iterator expressions = python.expressions().iterator();
    while (expressions.hasNext()) if (PythonResults.dependOnOthers((Expression) expressions.next())) return true;
    return false;
  }

  private static PushedDown belowFilter(Expression condition, PushedDown pushed) {
    if (Determinism.dependsOnOtherRows(condition)) return PushedDown.NOTHING; // without a row, it is true of others
    List parts = Plans.conjuncts(condition);
    parts.remove(Literal$.MODULE$.TrueLiteral());
    for (int i = parts.size() - 1; i >= 0; i--) if (SameColumns.asksAlone((Expression) parts.get(i))) parts.remove(i);
    PushedDown below = pushed.and(parts);
    for (int i = 0; i < parts.size(); i++) below = below.and(affordable(RuntimeFilter.ofSubquery((Expression) parts.get(i))));
    return below;
  }

  /**
   * A join keeps on its way down what is asked of a side that it does not preserve for its own sake, and asks for rows that the other side
   * meets. Conditions of an inner join that call Python stand above it: there is where Spark evaluates them.
   */
  private static PushedDown belowJoin(Join join, int side, PushedDown pushed) {
    boolean conditional = join.condition().isDefined();
    if (conditional && Determinism.dependsOnOtherRows((Expression) join.condition().get())) return PushedDown.NOTHING; // without a row, others match
    LogicalPlan child = (LogicalPlan) join.children().apply(side);
    LogicalPlan other = (LogicalPlan) join.children().apply(1 - side);
    JoinType type = join.joinType();
    boolean inner = type == Inner$.MODULE$ || type == Cross$.MODULE$;
    boolean semi = type == LeftSemi$.MODULE$ || type == LeftAnti$.MODULE$ || type instanceof ExistenceJoin;
    boolean passes = inner || (side == 0 ? semi || type == LeftOuter$.MODULE$ : type == RightOuter$.MODULE$);
    boolean asks = inner || (side == 0 ? type == LeftSemi$.MODULE$ || type == RightOuter$.MODULE$ : semi || type == LeftOuter$.MODULE$);
    PushedDown below = passes ? pushed.about(child.outputSet()) : PushedDown.NOTHING;
    if (!asks) return below;
    List conditions = new ArrayList();
    if (conditional) conditions.addAll(Plans.conjuncts((Expression) join.condition().get()));
    List found = Generators.ofJoin(conditions, child, other);
    for (int i = 0; inner && i < pushed.predicates().size(); i++) {
      conditions.addAll(Plans.conjuncts((Expression) pushed.predicates().get(i)));
    }
    return below.and(found).and(affordable(RuntimeFilter.ofJoin(conditions, child, other)));
  }

  /** What is run for a join runs no more joins by itself. */
  private static RuntimeFilter affordable(RuntimeFilter found) {
    return SmallSide.running() ? null : found;
  }

  private static boolean deterministic(scala.collection.immutable.Seq expressions, boolean ofGroups) {
    scala.collection.Iterator iterator = expressions.iterator();
    while (iterator.hasNext()) {
      Expression one = (Expression) iterator.next();
      if (!Determinism.holds(one) && (!ofGroups || !Determinism.holds(Groups.withoutAggregates(one)))) return false;
    }
    return true;
  }
}
