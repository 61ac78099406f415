package data_skip;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/**
 * Wraps the FileIndex of every file relation of whose rows something is known by what stands above it (Descent, Operators).
 *
 * A scan of whose table there is no index stays as it is: Spark runs once what stands twice in a plan (exchanges, the build side of dynamic
 * partition pruning), and knows it by equality.
 */
public final class SkippingRule extends Rule {
  private final BiFunction python;
  private final boolean everything;
  private volatile String left = ""; // Spark's number of the last query that it left alone, as skipping was off
  private final ThreadLocal last = new ThreadLocal(); // the plan that it made before

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
    if (plan instanceof Subquery) return plan; // Spark optimises it first by itself; it is rewritten with the plan that it stands in
    WeakReference made = (WeakReference) last.get();
    if (made != null && made.get() == plan) return plan; // nothing changed it
    LogicalPlan bare = (LogicalPlan) plan;
    try {
      if (!everything && withOtherRules()) bare = unwrapped(bare);
      LogicalPlan rewritten = Descent.rewritten(bare, new BiFunction() {
        public Object apply(Object scan, Object given) {
          return wrap((LogicalRelation) scan, (PushedDown) given);
        }
      });
      if (rewritten != bare) last.set(new WeakReference(rewritten));
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

  /** From now on, that is `query`. */
  public void lastLeftAlone(String query) {
    left = query;
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
    return (LogicalPlan) plan.transformUpWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return wrapped(node) != null;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            FileIndex wrapped = wrapped(node);
            return wrapped == null ? otherwise.apply(node) : Plans.withLocation((LogicalRelation) node, wrapped);
          }
        });
  }

  /** What a scan listed before it was wrapped; null for another node. */
  private static FileIndex wrapped(Object node) {
    if (!(node instanceof LogicalRelation) || !(((LogicalRelation) node).relation() instanceof HadoopFsRelation)) return null;
    FileIndex location = ((HadoopFsRelation) ((LogicalRelation) node).relation()).location();
    return location instanceof SkippingFileIndex ? ((SkippingFileIndex) location).wrapped() : null;
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
    if (!everything && python.apply("indexed", skipping) == null) return scan;
    skipping.description(); // by the settings in force now
    return Plans.withLocation(scan, skipping);
  }

  /** The session of the query; null where the settings in force are not its own. */
  private static SparkSession asking() {
    scala.Option active = org.apache.spark.sql.classic.SparkSession$.MODULE$.getActiveSession();
    boolean own = active.isDefined() && ((SparkSession) active.get()).sessionState().conf() == org.apache.spark.sql.internal.SQLConf.get();
    return own ? (SparkSession) active.get() : null;
  }
}
