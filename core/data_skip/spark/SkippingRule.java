package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
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
 * row with the same values or nothing: Filter, deterministic Project, Union, Sort, repartitioning, the extraction of Python UDFs, and
 * Generate, for the columns that it passes on, and for those that it generates as `exists(array, x -> ...)`; through aggregates and windows,
 * for what is alike in all rows of a group; and through joins, to a side of which a row that is not kept would give nothing.
 * Everywhere else (limits, ...) carrying stops.
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
      return rewrite((LogicalPlan) plan, new ArrayList(), new ArrayList());
    } catch (RuntimeException unknown) {
      return plan; // a query that cannot be helped is left as it is
    }
  }

  /** `predicates` hold of every row of the plan that matters above, and so does each of `pending`, see Pending. */
  private LogicalPlan rewrite(LogicalPlan plan, List predicates, List pending) {
    if (plan instanceof LogicalRelation) return wrap((LogicalRelation) plan, predicates, pending);
    List below = new ArrayList();
    List pendingBelow = new ArrayList();
    if (plan instanceof Filter) {
      below.addAll(predicates);
      below.add(((Filter) plan).condition());
      pendingBelow.addAll(pending);
      addSubqueries(((Filter) plan).condition(), pendingBelow);
    } else if (plan instanceof Project ? deterministic(((Project) plan).projectList()) : plan instanceof BaseEvalPython) {
      Map computed = Plans.computed(plan);
      for (int i = 0; i < predicates.size(); i++) below.add(Plans.substitute((Expression) predicates.get(i), computed));
      for (int i = 0; i < pending.size(); i++) pendingBelow.add(((Pending) pending.get(i)).below(computed));
    } else if (plan instanceof Generate) {
      below.addAll(predicates);
      Expression some = Generators.below((Generate) plan, predicates);
      if (some != null) below.add(some);
      pendingBelow.addAll(pending);
    } else if (plan instanceof Sort || plan instanceof RepartitionOperation) {
      below.addAll(predicates);
      pendingBelow.addAll(pending);
    }
    List children = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < plan.children().size(); i++) {
      LogicalPlan child = (LogicalPlan) plan.children().apply(i);
      LogicalPlan rewritten;
      if (plan instanceof Join) rewritten = rewriteSide((Join) plan, i, predicates, pending);
      else if (Groups.of(plan) || plan instanceof Union) rewritten = rewriteRenamed(plan, i, predicates, pending);
      else rewritten = rewrite(child, about(below, child.outputSet()), aboutPending(pendingBelow, child.outputSet()));
      changed = changed || rewritten != child;
      children.add(rewritten);
    }
    return changed ? (LogicalPlan) plan.withNewChildren(Plans.seq(children)) : plan;
  }

  /**
   * A join keeps on its way down what is asked of a side that it does not preserve for its own sake, and asks for rows that the other side
   * meets. Conditions of an inner join that call Python stand above it: there is where Spark evaluates them.
   */
  private LogicalPlan rewriteSide(Join join, int side, List predicates, List pending) {
    LogicalPlan child = (LogicalPlan) join.children().apply(side);
    LogicalPlan other = (LogicalPlan) join.children().apply(1 - side);
    JoinType type = join.joinType();
    boolean inner = type == Inner$.MODULE$ || type == Cross$.MODULE$;
    boolean semi = type == LeftSemi$.MODULE$ || type == LeftAnti$.MODULE$ || type instanceof ExistenceJoin;
    boolean passes = inner || (side == 0 ? semi || type == LeftOuter$.MODULE$ : type == RightOuter$.MODULE$);
    boolean asks = inner || (side == 0 ? type == LeftSemi$.MODULE$ || type == RightOuter$.MODULE$ : semi || type == LeftOuter$.MODULE$);
    List pendingBelow = passes ? aboutPending(pending, child.outputSet()) : new ArrayList();
    List conditions = new ArrayList();
    if (join.condition().isDefined()) conditions.addAll(Plans.conjuncts((Expression) join.condition().get()));
    if (inner) for (int i = 0; i < predicates.size(); i++) conditions.addAll(Plans.conjuncts((Expression) predicates.get(i)));
    if (asks) add(Pending.ofJoin(conditions, child, other), pendingBelow);
    List below = passes ? about(predicates, child.outputSet()) : new ArrayList();
    if (asks && join.condition().isDefined()) below.addAll(Generators.ofJoin((Expression) join.condition().get(), child, other));
    return rewrite(child, below, aboutPending(pendingBelow, child.outputSet()));
  }

  /** Of rows that are taken together, what is asked of all of them alike; of a union, what is asked of each of its parts. */
  private LogicalPlan rewriteRenamed(LogicalPlan plan, int side, List predicates, List pending) {
    LogicalPlan child = (LogicalPlan) plan.children().apply(side);
    Map names = Groups.of(plan) ? Groups.keys(plan) : Plans.renamed(plan, child);
    List below = new ArrayList();
    List kept = about(predicates, Groups.attributes(plan, names));
    for (int i = 0; i < kept.size(); i++) below.add(Plans.substitute((Expression) kept.get(i), names));
    List pendingBelow = new ArrayList();
    List pendingKept = aboutPending(pending, Groups.attributes(plan, names));
    for (int i = 0; i < pendingKept.size(); i++) pendingBelow.add(((Pending) pendingKept.get(i)).below(names));
    return rewrite(child, below, pendingBelow);
  }

  private static void addSubqueries(Expression condition, List pending) {
    List parts = Plans.conjuncts(condition);
    for (int i = 0; i < parts.size(); i++) add(Pending.ofSubquery((Expression) parts.get(i)), pending);
  }

  /** Those that are worth a thought: what is run for a join runs no more joins by itself. */
  private static void add(Pending found, List pending) {
    if (found != null && !SmallSide.running()) pending.add(found);
  }

  private static List aboutPending(List pending, AttributeSet output) {
    List result = new ArrayList();
    for (int i = 0; i < pending.size(); i++) {
      Pending about = ((Pending) pending.get(i)).about(output);
      if (about != null) result.add(about);
    }
    return result;
  }

  /** Those predicates that speak of nothing but these attributes. */
  private static List about(List predicates, AttributeSet output) {
    List result = new ArrayList();
    for (int i = 0; i < predicates.size(); i++) {
      List parts = Plans.conjuncts((Expression) predicates.get(i));
      for (int j = 0; j < parts.size(); j++) {
        Expression part = (Expression) parts.get(j);
        if (part.references().subsetOf(output)) result.add(part);
      }
    }
    return result;
  }

  private LogicalPlan wrap(LogicalRelation scan, List predicates, List pending) {
    if (scan.isStreaming() || !(scan.relation() instanceof HadoopFsRelation)) return scan;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    if (!(location instanceof PartitioningAwareFileIndex) && !(location instanceof CatalogFileIndex)) return scan;
    List worth = new ArrayList();
    for (int i = 0; i < pending.size(); i++) if (((Pending) pending.get(i)).worth(location.sizeInBytes())) worth.add(pending.get(i));
    if (predicates.isEmpty() && worth.isEmpty()) return scan;
    Expression predicate = predicates.isEmpty() ? Literal$.MODULE$.TrueLiteral() : (Expression) predicates.get(0);
    for (int i = 1; i < predicates.size(); i++) predicate = new And(predicate, (Expression) predicates.get(i));
    return Plans.withLocation(scan, new SkippingFileIndex(scan, predicate, predicates.isEmpty() ? worth : pending, python));
  }

  private static boolean deterministic(scala.collection.immutable.Seq expressions) {
    scala.collection.Iterator iterator = expressions.iterator();
    while (iterator.hasNext()) if (!((Expression) iterator.next()).deterministic()) return false;
    return true;
  }
}
