package data_skip;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * Wraps the FileIndex of every file relation of whose rows something is known by what stands above it (Descent, Operators).
 *
 * A scan of whose table there is no index stays as it is: Spark runs once what stands twice in a plan (exchanges, the build side of dynamic
 * partition pruning), and knows it by equality.
 */
public final class SkippingRule extends Rule {
  private static final int EVERY = -1; // scan of a plan

  private final BiFunction python;
  private final boolean everything;
  private final Contracts contracts;
  private volatile String left = ""; // Spark's number of the last query that it left alone, as skipping was off
  private volatile LogicalPlan lastUnindexed; // kept for its report, as is the next
  private volatile LogicalPlan lastLeft;
  private final ThreadLocal last = new ThreadLocal(); // the plan that it made before

  /** everything: scans are wrapped as well of whose tables there is no index, so that they can be looked at. */
  public SkippingRule(BiFunction python, boolean everything) {
    this.python = python;
    this.everything = everything;
    this.contracts = new Contracts(python);
  }

  public String ruleName() {
    return "data_skip.SkippingRule";
  }

  public TreeNode apply(TreeNode given) {
    TreeNode plan = given instanceof Subquery ? given : SnapshotFileIndex.ofOneVersion((LogicalPlan) given);
    if (!UserSettings.enabled(org.apache.spark.sql.internal.SQLConf.get())) return leftAlone(plan);
    if (plan instanceof Subquery) return plan; // Spark optimises it first by itself; it is rewritten with the plan that it stands in
    WeakReference made = (WeakReference) last.get();
    if (made != null && made.get() == plan) return plan; // nothing changed it
    LogicalPlan bare = (LogicalPlan) plan;
    try {
      if (!everything && withOtherRules()) bare = unwrapped(bare);
      final SparkSession asking = asking();
      if (asking == null) return bare;
      final Map why = new WeakHashMap(); // relations hold lists of files
      List scans = scans(bare);
      if (!everything && !SmallSide.running()) { // whose files are those of the query that it is run for
        LogicalPlan followed = contracts.followed(bare, scans, asking, why);
        if (followed != bare) scans = scans(bare = SnapshotFileIndex.ofOneVersion(followed));
      }
      if (!everything && !asks(bare) && !Contracts.told(scans, why)) return bare;
      final Map indexed = everything ? null : indexed(bare, scans, asking, why);
      if (!everything && indexed.isEmpty()) return bare;
      final LogicalPlan seen = bare;
      final SideTime time = new SideTime();
      LogicalPlan rewritten = Descent.rewritten(bare, new BiFunction() {
        private int number = -1;

        public Object apply(Object node, Object place) {
          number++;
          LogicalRelation scan = (LogicalRelation) node;
          SkippingFileIndex skipping = skipping(scan, (Place) place, asking, time, why);
          if (skipping == null) return scan;
          boolean asked = skipping.isAsked();
          Indexed known = everything ? null : (Indexed) indexed.get(scan.relation());
          boolean hasIndex = everything || known != null;
          if (hasIndex && (skipping.isBySetting() || asked && (everything || skipping.isServed(known)))) {
            skipping.description(); // by the settings in force now
            return Plans.withLocation(scan, skipping);
          }
          if (!everything) tellLeft(scan, skipping, known, skipping.whyLess(), new Left(seen, number, asking, why));
          return scan;
        }
      });
      if (rewritten != bare) last.set(new WeakReference(rewritten));
      return rewritten;
    } catch (Throwable unknown) {
      return bare; // a query that cannot be helped is left as it is
    }
  }

  /** Whether anything in a plan or its sub-queries asks something of rows: see Operators. */
  private static boolean asks(LogicalPlan plan) {
    return plan.containsPattern(TreePattern$.MODULE$.FILTER()) || plan.containsPattern(TreePattern$.MODULE$.JOIN());
  }

  /** The relations of a plan of whose tables there is an Indexed. Of a plan without one, Python keeps how to tell of it. */
  private Map indexed(LogicalPlan plan, List scans, SparkSession asking, Map why) throws java.io.IOException {
    Map found = new IdentityHashMap();
    if (scans.isEmpty()) return found;
    List roots = new ArrayList();
    for (int i = 0; i < scans.size(); i++) roots.add(Description.roots((LogicalRelation) scans.get(i)));
    Object said = python.apply(
        "indexed\n" + told(asking, Plans.executionId(asking), SkippingFileIndex.nextNumber(), roots, null, new ArrayList()),
        new Left(plan, EVERY, asking, why));
    Indexed[] known = said == null ? new Indexed[0] : Indexed.of(said.toString());
    for (int i = 0; i < known.length; i++) if (known[i] != null) found.put(((LogicalRelation) scans.get(i)).relation(), known[i]);
    if (found.isEmpty()) lastUnindexed = plan;
    return found;
  }

  /** Tells Python of a scan that stays as it is; known: of its table's indexes, if there are any. */
  private void tellLeft(LogicalRelation scan, SkippingFileIndex skipping, Indexed known, List why, Left left) {
    List roots = Collections.singletonList(Description.roots(scan));
    python.apply("left\n" + told(left.asking, skipping.executionId(), skipping.number(), roots, known, known == null ? new ArrayList() : why), left);
    if (!SmallSide.running()) lastLeft = (LogicalPlan) left.plan.get(); // else the query's own, that it is run for
  }

  private static String told(SparkSession asking, String executionId, long number, List roots, Indexed known, List why) {
    Connection.answersAtOnce();
    Map json = new HashMap();
    json.put("why", why);
    json.put("execution_id", executionId);
    json.put("number", new Long(number));
    json.put("roots", roots);
    json.put("has_index", Boolean.valueOf(known != null));
    json.put("decide_seconds", new Double(UserSettings.decideSeconds(asking.sessionState().conf())));
    return Plans.json(json);
  }

  /** The scans of a plan and its sub-queries whose files could be chosen. */
  private static List scans(LogicalPlan plan) {
    return new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(plan.collectWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return node instanceof LogicalRelation && eligible((LogicalRelation) node);
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            return isDefinedAt(node) ? node : otherwise.apply(node);
          }
        })));
  }

  private static boolean eligible(LogicalRelation scan) {
    if (scan.isStreaming() || !(scan.relation() instanceof HadoopFsRelation)) return false;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    return location instanceof PartitioningAwareFileIndex || location instanceof CatalogFileIndex || location instanceof SnapshotFileIndex;
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

  /** What lists the files of a scan, by what is known of its rows; null where nothing is. why: see Contracts.followed. */
  private SkippingFileIndex skipping(LogicalRelation scan, Place place, SparkSession asking, SideTime time, Map why) {
    if (!eligible(scan)) return null;
    List predicates = place.given.predicates();
    List runtimeFilters = place.given.runtimeFilters();
    if (predicates.isEmpty() && runtimeFilters.isEmpty() && !Contracts.told(Collections.singletonList(scan), why)) return null;
    List affordable = runtimeFilters;
    if (predicates.isEmpty()) affordable = RuntimeFilters.affordable(affordable, ((HadoopFsRelation) scan.relation()).location().sizeInBytes());
    Expression predicate = predicates.isEmpty() ? Literal$.MODULE$.TrueLiteral() : (Expression) predicates.get(0);
    for (int i = 1; i < predicates.size(); i++) predicate = new And(predicate, (Expression) predicates.get(i));
    List tried = affordable.isEmpty() ? runtimeFilters : affordable;
    return new SkippingFileIndex(scan, place.asked(), predicate, tried, python, asking, time, Contracts.whyListed(scan, why));
  }

  /**
   * The scans of a query that are left as they are, or one of them: what there is to tell of them is found once somebody looks at its report.
   * The plan of the last query is kept for that, those before as long as Spark keeps them: plans hold lists of files.
   */
  public final class Left {
    private final WeakReference plan;
    private final int only;
    private final SparkSession asking;
    private final Map why;

    /** only: the place of the scan on the way through the plan. */
    private Left(LogicalPlan plan, int only, SparkSession asking, Map why) {
      this.why = why;
      this.plan = new WeakReference(plan);
      this.only = only;
      this.asking = asking;
    }

    /** Those of whose rows something is known; null where the plan is kept no more. */
    public Object[] scans() {
      final LogicalPlan kept = (LogicalPlan) plan.get();
      if (kept == null) return null;
      final List result = new ArrayList();
      SQLConf$.MODULE$.withExistingConf(asking.sessionState().conf(), new scala.runtime.AbstractFunction0() {
        public Object apply() {
          return Descent.rewritten(kept, new BiFunction() {
            private int number = -1;

            public Object apply(Object scan, Object place) {
              number++;
              if (only != EVERY && only != number) return scan;
              SkippingFileIndex found = skipping((LogicalRelation) scan, (Place) place, asking, new SideTime(), why);
              if (found == null || (only == EVERY && !found.isAsked() && !found.isTold())) return scan;
              found.description(); // by these settings
              result.add(found);
              return scan;
            }
          });
        }
      });
      return result.toArray();
    }
  }

  /** The session of the query; null where the settings in force are not its own. */
  private static SparkSession asking() {
    scala.Option active = org.apache.spark.sql.classic.SparkSession$.MODULE$.getActiveSession();
    boolean own = active.isDefined() && ((SparkSession) active.get()).sessionState().conf() == org.apache.spark.sql.internal.SQLConf.get();
    return own ? (SparkSession) active.get() : null;
  }
}
