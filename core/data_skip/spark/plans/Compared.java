package data_skip;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Plans as far as Spark compares what it runs of them: it leaves out a filter that is always true, and the order in which columns of a scan are
 * asked for, where it has no others and nothing above goes by that (RemoveRedundantProjects); so in sub-queries.
 */
public final class Compared {
  private Compared() {}

  /** The same plan, in any order of its columns, without what is left out. */
  public static LogicalPlan of(LogicalPlan plan) {
    return of(withSubqueries(plan), true);
  }

  private static LogicalPlan withSubqueries(LogicalPlan plan) {
    return Plans.withExpressions(
        plan,
        TreePattern$.MODULE$.PLAN_EXPRESSION(),
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object expression) {
            return expression instanceof SubqueryExpression;
          }

          public Object applyOrElse(Object expression, scala.Function1 otherwise) {
            if (!isDefinedAt(expression)) return otherwise.apply(expression);
            return ((SubqueryExpression) expression).withNewPlan(of((LogicalPlan) ((SubqueryExpression) expression).plan()));
          }
        });
  }

  /** Whether an operator is left out where the order of its columns does not matter: nothing is compared of it but what it stands on. */
  public static boolean leavesOut(LogicalPlan plan) {
    return isTrue(plan) || ordersScan(plan) && plan.output().size() == ((LogicalPlan) plan.children().head()).output().size();
  }

  private static LogicalPlan of(LogicalPlan plan, boolean anyOrder) {
    if (isTrue(plan) || anyOrder && leavesOut(plan)) return of((LogicalPlan) plan.children().head(), anyOrder);
    boolean below = plan instanceof Project || plan instanceof Aggregate;
    below |= anyOrder && (plan instanceof Filter || plan instanceof Join || plan instanceof Window || plan instanceof Expand);
    List children = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < plan.children().size(); i++) {
      children.add(of((LogicalPlan) plan.children().apply(i), below));
      changed = changed || children.get(i) != plan.children().apply(i);
    }
    LogicalPlan result = changed ? (LogicalPlan) plan.withNewChildren(Plans.seq(children)) : plan;
    return anyOrder && ordersScan(plan) ? inOrder((Project) result) : result;
  }

  private static boolean isTrue(LogicalPlan plan) {
    return plan instanceof Filter && ((Filter) plan).condition().equals(Literal$.MODULE$.TrueLiteral());
  }

  /** Whether an operator asks for all columns that a scan gives, each once: it does nothing else, and Spark leaves it out. */
  private static boolean ordersScan(LogicalPlan plan) {
    if (!(plan instanceof Project) || plan.outputSet().size() != plan.output().size()) return false;
    scala.collection.Iterator columns = ((Project) plan).projectList().iterator();
    while (columns.hasNext()) if (!(columns.next() instanceof Attribute)) return false;
    LogicalPlan below = (LogicalPlan) plan.children().head();
    for (; below instanceof Filter; below = (LogicalPlan) below.children().head()) if (!below.references().subsetOf(plan.outputSet())) return false;
    return below instanceof LogicalRelation && givesNoMore((LogicalRelation) below, plan.outputSet());
  }

  /** Whether a scan that is asked for some columns gives no others: it gives those of partitions, and `_metadata`, unasked (FileSourceStrategy). */
  private static boolean givesNoMore(LogicalRelation scan, AttributeSet asked) {
    List unasked = new ArrayList();
    if (scan.relation() instanceof HadoopFsRelation) unasked.addAll(Arrays.asList(((HadoopFsRelation) scan.relation()).partitionSchema().fieldNames()));
    scala.collection.Iterator columns = scan.output().iterator();
    while (columns.hasNext()) {
      Attribute column = (Attribute) columns.next();
      if ((unasked.contains(column.name()) || column.metadata().contains("__metadata_col")) && !asked.contains(column)) return false;
    }
    return true;
  }

  /** The columns in the order in which the scan has them. */
  private static LogicalPlan inOrder(Project project) {
    final Map places = Alike.places(((LogicalPlan) project.child()).output());
    List columns = new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(project.projectList()));
    Collections.sort(columns, new Comparator() {
      public int compare(Object one, Object other) {
        return place(one) - place(other);
      }

      private int place(Object column) {
        return ((Integer) places.get(((Attribute) column).exprId())).intValue();
      }
    });
    return new Project(Plans.seq(columns), (LogicalPlan) project.child());
  }
}
