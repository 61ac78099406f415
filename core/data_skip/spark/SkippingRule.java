package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/**
 * Wraps the FileIndex of every file relation that stands below a Filter.
 *
 * A predicate is carried down from the Filter to the relation only through operators that keep, of each row below, the
 * row with the same values or nothing: Filter, deterministic Project, the extraction of Python UDFs, and Generate, for the
 * columns that it passes on, and for those that it generates as `exists(array, x -> ...)`. Everywhere else (joins, aggregates, windows, limits, ...) carrying stops: what Spark's
 * optimizer proved that it may push, it has pushed by now.
 */
public final class SkippingRule extends Rule {
  private final BiFunction python;

  public SkippingRule(BiFunction python) {
    this.python = python;
  }

  public String ruleName() {
    return "data_skip.SkippingRule";
  }

  public TreeNode apply(TreeNode plan) {
    if (!Plans.enabled(org.apache.spark.sql.internal.SQLConf.get())) return plan;
    try {
      return rewrite((LogicalPlan) plan, new ArrayList());
    } catch (RuntimeException unknown) {
      return plan; // a query that cannot be helped is left as it is
    }
  }

  private LogicalPlan rewrite(LogicalPlan plan, List predicates) {
    if (plan instanceof LogicalRelation) return wrap((LogicalRelation) plan, predicates);
    List below = new ArrayList();
    if (plan instanceof Filter) {
      below.addAll(predicates);
      below.add(((Filter) plan).condition());
    } else if (plan instanceof Project ? deterministic(((Project) plan).projectList()) : plan instanceof BaseEvalPython) {
      Map computed = Plans.computed(plan);
      for (int i = 0; i < predicates.size(); i++) below.add(Plans.substitute((Expression) predicates.get(i), computed));
    } else if (plan instanceof Generate) {
      below.addAll(predicates);
      Expression some = Generators.below((Generate) plan, predicates);
      if (some != null) below.add(some);
    }
    return rewriteChildren(plan, below);
  }

  private LogicalPlan rewriteChildren(LogicalPlan plan, List predicates) {
    List children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator iterator = plan.children().iterator();
    while (iterator.hasNext()) {
      LogicalPlan child = (LogicalPlan) iterator.next();
      LogicalPlan rewritten = rewrite(child, about(predicates, child));
      changed = changed || rewritten != child;
      children.add(rewritten);
    }
    return changed ? (LogicalPlan) plan.withNewChildren(Plans.seq(children)) : plan;
  }

  /** Those predicates that speak of nothing but the child's own output. */
  private static List about(List predicates, LogicalPlan child) {
    List result = new ArrayList();
    for (int i = 0; i < predicates.size(); i++) {
      List parts = Plans.conjuncts((Expression) predicates.get(i));
      for (int j = 0; j < parts.size(); j++) {
        Expression part = (Expression) parts.get(j);
        if (part.references().subsetOf(child.outputSet())) result.add(part);
      }
    }
    return result;
  }

  private LogicalPlan wrap(LogicalRelation scan, List predicates) {
    if (predicates.isEmpty() || scan.isStreaming() || !(scan.relation() instanceof HadoopFsRelation)) return scan;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    if (!(location instanceof PartitioningAwareFileIndex) && !(location instanceof CatalogFileIndex)) return scan;
    Expression predicate = (Expression) predicates.get(0);
    for (int i = 1; i < predicates.size(); i++) predicate = new And(predicate, (Expression) predicates.get(i));
    return Plans.withLocation(scan, new SkippingFileIndex(scan, predicate, python));
  }

  private static boolean deterministic(scala.collection.immutable.Seq expressions) {
    scala.collection.Iterator iterator = expressions.iterator();
    while (iterator.hasNext()) if (!((Expression) iterator.next()).deterministic()) return false;
    return true;
  }
}
