package data_skip;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.And;
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
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/**
 * Wraps the FileIndex of every file relation that stands below a Filter.
 *
 * A predicate is pushed down from the Filter to the relation only through operators that keep, of each row below, the
 * row with the same values or nothing: Filter, deterministic Project, Union, Sort, repartitioning, the extraction of Python UDFs, and
 * Generate, for the columns that it passes on, and for those that it generates as `exists(array, x -> ...)`; through aggregates and windows,
 * for what is alike in all rows of a group; and through joins, to a side of which a row that is not kept would give nothing.
 * Everywhere else (limits, ...) carrying stops. So it does, as Spark's own does, at a Filter, Generate or extraction of Python UDFs that is
 * not deterministic: what it gives a row depends on the rows before.
 *
 * A scan of whose table there is no index stays as it is: Spark runs once what stands twice in a plan (exchanges, the build side of dynamic
 * partition pruning), and knows it by equality.
 */
public final class SkippingRule extends Rule {
  private final BiFunction python;
  private final boolean everything;
  private volatile String left = ""; // Spark's number of the last query that it left alone, as skipping was off
  private final ThreadLocal last = new ThreadLocal(); // the plan that it made before, among other rules

  /** everything: scans are wrapped as well of whose tables there is no index, so that they can be looked at. */
  public SkippingRule(BiFunction python, boolean everything) {
    this.python = python;
    this.everything = everything;
  }

  public String ruleName() {
    return "data_skip.SkippingRule";
  }

  public TreeNode apply(TreeNode plan) {
    if (!UserSettings.enabled(org.apache.spark.sql.internal.SQLConf.get())) return leftAlone(plan);
    LogicalPlan bare = (LogicalPlan) plan;
    try {
      if (everything || !withOtherRules()) return rewrite(bare, PushedDown.NOTHING);
      WeakReference made = (WeakReference) last.get();
      if (made != null && made.get() == plan) return plan; // nothing changed it
      bare = unwrapped(bare);
      LogicalPlan rewritten = rewrite(bare, PushedDown.NOTHING);
      last.set(new WeakReference(rewritten));
      return rewritten;
    } catch (Throwable unknown) {
      return bare; // a query that cannot be helped is left as it is
    }
  }

  private TreeNode leftAlone(TreeNode plan) {
    SparkSession asking = asking();
    String query = asking == null ? "" : Plans.executionId(asking);
    if (!query.isEmpty()) left = query;
    return plan;
  }

  /** Spark's number of the last query for which skipping was off; "" where there is none. */
  public String lastLeftAlone() {
    return left;
  }

  /**
   * Whether the user's session has rules of its own beside this one. They may have changed what a plan asks since its scans were wrapped:
   * Spark runs all of them until none changes it, so that scans are then wrapped anew, by the predicates of the last plan.
   */
  private static boolean withOtherRules() {
    SparkSession asking = asking();
    return asking != null && asking.experimental().extraOptimizations().size() > 1;
  }

  private static LogicalPlan unwrapped(LogicalPlan plan) {
    if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
      FileIndex location = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location();
      return location instanceof SkippingFileIndex ? Plans.withLocation((LogicalRelation) plan, ((SkippingFileIndex) location).wrapped()) : plan;
    }
    return (LogicalPlan) plan.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return unwrapped((LogicalPlan) child);
          }
        });
  }

  private LogicalPlan rewrite(LogicalPlan plan, PushedDown pushed) {
    if (plan instanceof LogicalRelation) return wrap((LogicalRelation) plan, pushed);
    List children = new ArrayList();
    boolean changed = false;
    for (int side = 0; side < plan.children().size(); side++) {
      LogicalPlan child = (LogicalPlan) plan.children().apply(side);
      LogicalPlan rewritten = rewrite(child, below(plan, side, pushed).about(child.outputSet()));
      changed = changed || rewritten != child;
      children.add(rewritten);
    }
    return changed ? (LogicalPlan) plan.withNewChildren(Plans.seq(children)) : plan;
  }

  /** What is known of the rows of a plan's child, from what is known of the plan's own rows. */
  private static PushedDown below(LogicalPlan plan, int side, PushedDown pushed) {
    if (plan instanceof Sort || plan instanceof RepartitionOperation) return pushed;
    if (!Groups.of(plan) && !deterministic(plan.expressions())) pushed = PushedDown.NOTHING;
    if (plan instanceof Filter) return belowFilter(((Filter) plan).condition(), pushed);
    if (plan instanceof Generate) return pushed.and(Generators.below((Generate) plan, pushed.predicates()));
    if (plan instanceof Join) return belowJoin((Join) plan, side, pushed);
    if (plan instanceof Project || plan instanceof BaseEvalPython) return pushed.below(Plans.computed(plan));
    if (!Groups.of(plan) && !(plan instanceof Union)) return PushedDown.NOTHING;
    // Of rows that are taken together, what is asked of all of them alike; of a union, what is asked of each of its parts.
    Map names = Groups.of(plan) ? Groups.keys(plan) : Plans.renamed(plan, (LogicalPlan) plan.children().apply(side));
    return pushed.about(Groups.attributes(plan, names)).below(names);
  }

  private static PushedDown belowFilter(Expression condition, PushedDown pushed) {
    if (Plans.dependsOnOtherRows(condition)) return PushedDown.NOTHING; // without a row, it is true of others
    PushedDown below = pushed.and(Collections.singletonList(condition));
    List parts = Plans.conjuncts(condition);
    for (int i = 0; i < parts.size(); i++) below = below.and(affordable(RuntimeFilter.ofSubquery((Expression) parts.get(i))));
    return below;
  }

  /**
   * A join keeps on its way down what is asked of a side that it does not preserve for its own sake, and asks for rows that the other side
   * meets. Conditions of an inner join that call Python stand above it: there is where Spark evaluates them.
   */
  private static PushedDown belowJoin(Join join, int side, PushedDown pushed) {
    boolean conditional = join.condition().isDefined();
    if (conditional && Plans.dependsOnOtherRows((Expression) join.condition().get())) return PushedDown.NOTHING; // without a row, others match
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

  private LogicalPlan wrap(LogicalRelation scan, PushedDown pushed) {
    if (scan.isStreaming() || !(scan.relation() instanceof HadoopFsRelation)) return scan;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    if (!(location instanceof PartitioningAwareFileIndex) && !(location instanceof CatalogFileIndex)) return scan;
    SparkSession asking = asking();
    if (asking == null) return scan;
    List predicates = pushed.predicates();
    List runtimeFilters = pushed.runtimeFilters();
    List affordable = new ArrayList();
    for (int i = 0; i < runtimeFilters.size(); i++) if (((RuntimeFilter) runtimeFilters.get(i)).affordable(location.sizeInBytes())) affordable.add(runtimeFilters.get(i));
    if (predicates.isEmpty() && affordable.isEmpty()) return scan;
    Expression predicate = predicates.isEmpty() ? Literal$.MODULE$.TrueLiteral() : (Expression) predicates.get(0);
    for (int i = 1; i < predicates.size(); i++) predicate = new And(predicate, (Expression) predicates.get(i));
    SkippingFileIndex skipping = new SkippingFileIndex(scan, predicate, predicates.isEmpty() ? affordable : runtimeFilters, python, asking);
    boolean indexed = everything || python.apply("indexed", skipping) != null;
    return indexed ? Plans.withLocation(scan, skipping) : scan;
  }

  /** The session of the query; null where the settings in force are not its own. */
  private static SparkSession asking() {
    scala.Option active = org.apache.spark.sql.classic.SparkSession$.MODULE$.getActiveSession();
    boolean own = active.isDefined() && ((SparkSession) active.get()).sessionState().conf() == org.apache.spark.sql.internal.SQLConf.get();
    return own ? (SparkSession) active.get() : null;
  }

  private static boolean deterministic(scala.collection.immutable.Seq expressions) {
    scala.collection.Iterator iterator = expressions.iterator();
    while (iterator.hasNext()) if (!((Expression) iterator.next()).deterministic()) return false;
    return true;
  }
}
