package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** What plans ask of rows, and Spark compares of what it runs: they without what no rows depend on, and Spark may leave out or run otherwise. */
public final class AsRun {
  private AsRun() {}

  public static LogicalPlan of(LogicalPlan plan) {
    return Plans.withNodes(withoutPruning(plan), new Function() {
      public Object apply(Object node) {
        if (node instanceof Generate && ((Generate) node).qualifier().isDefined()) return withoutQualifier((Generate) node);
        return node instanceof DataSourceV2ScanRelation ? withoutRelation((DataSourceV2ScanRelation) node) : null;
      }
    });
  }

  /** Without the name by which exploded rows were spoken of (`LATERAL VIEW explode(a) NAME`): a logical plan has it, and what runs does not. */
  private static LogicalPlan withoutQualifier(Generate generate) {
    return with(generate, generate.qualifier(), scala.Option.apply(null));
  }

  /** Without the columns that its relation has beside those of the scan, by other ids each time: of what runs Spark compares the scan. */
  private static LogicalPlan withoutRelation(DataSourceV2ScanRelation scan) {
    LogicalPlan relation = (LogicalPlan) scan.relation();
    return with(scan, relation, with(relation, relation.output(), Plans.seq(new ArrayList())));
  }

  /** A plan with another one of its arguments. */
  private static LogicalPlan with(LogicalPlan plan, Object argument, Object other) {
    Object[] arguments = new Object[plan.productArity()];
    for (int i = 0; i < arguments.length; i++) arguments[i] = plan.productElement(i) == argument ? other : plan.productElement(i);
    return (LogicalPlan) plan.makeCopy(arguments);
  }

  /**
   * The same without dynamic pruning, which asks nothing of rows that a join above it does not. Nothing stays in its place: where the other
   * side is not broadcast Spark leaves it out, and runs once what is equal but for that.
   */
  public static LogicalPlan withoutPruning(LogicalPlan plan) {
    return Plans.withExpressions(
        plan,
        TreePattern$.MODULE$.DYNAMIC_PRUNING_SUBQUERY(),
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object expression) {
            return expression instanceof DynamicPruning || expression instanceof And;
          }

          public Object applyOrElse(Object expression, scala.Function1 otherwise) {
            return isDefinedAt(expression) ? unpruned((Expression) expression) : otherwise.apply(expression);
          }
        });
  }

  /** A condition without the pruning that is among its parts; true where it has no other. */
  private static Expression unpruned(Expression condition) {
    List rest = new ArrayList();
    List parts = Plans.conjuncts(condition);
    for (int i = 0; i < parts.size(); i++) if (!(parts.get(i) instanceof DynamicPruning)) rest.add(parts.get(i));
    if (rest.size() == parts.size()) return condition;
    return rest.isEmpty() ? Literal$.MODULE$.TrueLiteral() : KeyPredicates.all(rest);
  }
}
